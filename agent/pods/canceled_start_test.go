package pods

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/fake"
)

// cancelingService is a runtime that abandons the first start of a container when the caller's
// context ends, as containerd does.
type cancelingService struct {
	*fake.Service
	requested   chan struct{}
	abandonedID atomic.Value // container ID
}

func (s *cancelingService) StartContainer(ctx context.Context, id string) error {
	if err := s.Service.StartContainer(ctx, id); err != nil || !s.abandonedID.CompareAndSwap(nil, id) {
		return err
	}
	close(s.requested)
	<-ctx.Done()
	s.Service.Exit("job", "a", exitCodeStartError, "StartError")
	return ctx.Err()
}

func (s *cancelingService) ContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	status, err := s.Service.ContainerStatus(ctx, id)
	if err == nil && id == s.abandonedID.Load() {
		status.StartedAt, status.Message = 0, "failed to create containerd task: failed to get task pid: context canceled: unknown"
	}
	return status, err
}

// TestCanceledStartIsRetried checks that the only start of a pod with restartPolicy Never is retried
// if the agent stops during it.
func TestCanceledStartIsRetried(t *testing.T) {
	s := &cancelingService{requested: make(chan struct{})}
	h := newHarness(t, func(o *Options) {
		s.Service = o.Service.(*fake.Service)
		o.Service = s
	})
	pod := testPod("job", "a")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.admit(pod)
	<-s.requested
	h.restart()
	h.waitForStates(pod, "a=running")
	if containers, _ := s.ListContainers(t.Context(), nil); len(containers) != 1 || h.count("CreateContainer a") != 2 {
		t.Errorf("%d containers, want 1, created twice: %q", len(containers), h.service.Calls())
	}
}
