package pods

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAwaitEndpoints checks that a container gets SIGTERM after Services have stopped using its pod,
// or after the timeout.
func TestAwaitEndpoints(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"unrouted": time.Hour, "timeout": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			requested, unrouted := make(chan []string, 1), make(chan struct{})
			h := newHarness(t, func(o *Options) {
				o.EndpointTimeout = timeout
				o.AwaitEndpoints = func(ctx context.Context, addresses []string) {
					requested <- addresses
					select {
					case <-unrouted:
					case <-ctx.Done():
					}
				}
			})
			pod := testPod("web", "a")
			h.admit(pod)
			h.waitForStates(pod, "a=running")
			deleted := pod.DeepCopy()
			deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			h.runner.Update(deleted)
			h.delete(pod, time.Minute)
			if addresses := <-requested; len(addresses) != 1 {
				t.Errorf("AwaitEndpoints of addresses %v, want the pod's", addresses)
			}
			if name == "unrouted" {
				if calls := h.service.Calls(); slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "StopContainer") }) {
					t.Errorf("calls while Services use the pod: %v, want no StopContainer", calls)
				}
				close(unrouted)
			}
			h.waitForStates(pod, "a=terminated(143 )")
		})
	}
}
