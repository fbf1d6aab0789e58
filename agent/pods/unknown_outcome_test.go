package pods

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime/fake"
)

// disconnectingService is a runtime that becomes unavailable after it has started a container. The
// container has exited when it is back.
type disconnectingService struct {
	*fake.Service
	code int32
}

func (s disconnectingService) StartContainer(ctx context.Context, id string) error {
	if err := s.Service.StartContainer(ctx, id); err != nil {
		return err
	}
	s.Service.Exit("job", "a", s.code, "")
	return status.Error(codes.Unavailable, "error reading from server: connection reset by peer")
}

func TestStartOutcomeUnknown(t *testing.T) {
	for name, tc := range map[string]struct {
		code int32
		want string
	}{"exit code 0": {0, "a=terminated(0 )"}, "exit code 3": {3, "a=terminated(3 )"}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *Options) { o.Service = disconnectingService{o.Service.(*fake.Service), tc.code} })
			pod := testPod("job", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			h.admit(pod)
			h.waitForStates(pod, tc.want)
			if n := h.count("CreateContainer a"); n != 1 {
				t.Errorf("a was created %d times, want once", n)
			}
		})
	}
}

// unresponsiveService is a runtime that starts a container, becomes unavailable before it responds, and
// then lists no containers until it is released.
type unresponsiveService struct {
	*fake.Service
	release func()
}

func (s *unresponsiveService) StartContainer(ctx context.Context, id string) error {
	if err := s.Service.StartContainer(ctx, id); err != nil {
		return err
	}
	unavailable := status.Error(codes.Unavailable, "error reading from server: connection reset by peer")
	s.Service.Fail("ContainerStatus", unavailable)
	s.release = s.Service.Block("ListContainers")
	return unavailable
}

// TestStopAfterStartOutcomeUnknown checks that a container that may be running is looked up and
// stopped, not reported as exited.
func TestStopAfterStartOutcomeUnknown(t *testing.T) {
	var service *unresponsiveService
	h := newHarness(t, func(o *Options) {
		service = &unresponsiveService{Service: o.Service.(*fake.Service)}
		o.Service = service
	})
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=starting(RunContainerError)")
	h.delete(pod, time.Minute)
	service.release()
	h.waitUntil("the container has exited", func() bool { return h.lifecycles[pod.UID].finished })
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := h.states(pod); got != "a=terminated(143 )" || h.count("StopContainer(24h0m0s) a") != 1 {
		t.Errorf("states %s, want a=terminated(143 ) after one stop request; calls: %q", got, h.service.Calls())
	}
}
