package pods

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

func TestUnsupportedErrors(t *testing.T) {
	for err, want := range map[error]bool{
		status.Error(codes.InvalidArgument, "the embedded runtime refuses spec.hostPID"): true,
		status.Error(codes.Unavailable, "no connection"):                                 false,
		errors.New("no space"): false,
	} {
		if isUnsupported(err) != want {
			t.Errorf("isUnsupported(%v) = %t, want %t", err, !want, want)
		}
	}
}

// TestUnsupportedPodReportsReason checks that every step reports unsupported fields with the same
// reason.
func TestUnsupportedPodReportsReason(t *testing.T) {
	for _, method := range []string{"RunPodSandbox", "CreateContainer"} {
		t.Run(method, func(t *testing.T) {
			h := newHarness(t)
			h.service.Fail(method, status.Error(codes.InvalidArgument, "the embedded runtime refuses this"))
			h.admit(testPod("web", "a"))
			h.waitUntil("the failure is reported", func() bool {
				return slices.ContainsFunc(h.reports, func(r runtime.Report) bool {
					w, ok := r.Event.(podlifecycle.Waiting)
					return ok && w.Reason == "RefusedByRuntime" && strings.Contains(w.Message, "refuses this")
				})
			})
		})
	}
}
