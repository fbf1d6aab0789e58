package fake

import (
	"context"
	"fmt"
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

type sandbox struct {
	id, handler string
	config      *cri.PodSandboxConfig
	state       cri.PodSandboxState
	created     int64
	ip          string
}

// RunPodSandbox implements runtime.Sandboxes.
func (s *Service) RunPodSandbox(ctx context.Context, config *cri.PodSandboxConfig, handler string) (string, error) {
	if err := s.beginCall(ctx, "RunPodSandbox"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &sandbox{id: s.newID(), handler: handler, config: config, created: now()}
	if config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() != cri.NamespaceMode_NODE {
		b.ip = fmt.Sprintf("10.88.%d.%d", s.serial/250, s.serial%250+2)
	}
	s.sandboxes = append(s.sandboxes, b)
	s.recordCall("RunPodSandbox", config.GetMetadata().GetName())
	return b.id, nil
}

// StopPodSandbox implements runtime.Sandboxes. It kills the containers.
func (s *Service) StopPodSandbox(ctx context.Context, id string) error {
	if err := s.beginCall(ctx, "StopPodSandbox"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.findSandbox(id)
	if b == nil {
		return nil // as in containerd
	}
	s.recordCall("StopPodSandbox", b.config.GetMetadata().GetName())
	for _, c := range s.containers {
		if c.sandbox == id {
			s.exit(c, 137, "Error")
		}
	}
	s.markNotReady(b)
	return nil
}

// markNotReady makes a sandbox not ready. s.mu must be held.
func (s *Service) markNotReady(b *sandbox) {
	if b.state != cri.PodSandboxState_SANDBOX_NOTREADY {
		b.state = cri.PodSandboxState_SANDBOX_NOTREADY
		s.publish(runtime.ContainerEvent{Container: b.id})
	}
}

// LoseSandbox ends the process of a pod's sandbox as if it was killed. Its containers keep
// running.
func (s *Service) LoseSandbox(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.sandboxes {
		if b.config.GetMetadata().GetName() == pod {
			s.markNotReady(b)
		}
	}
}

// RemovePodSandbox implements runtime.Sandboxes.
func (s *Service) RemovePodSandbox(ctx context.Context, id string) error {
	if err := s.beginCall(ctx, "RemovePodSandbox"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.findSandbox(id)
	if b == nil {
		return nil
	}
	s.recordCall("RemovePodSandbox", b.config.GetMetadata().GetName())
	s.containers = slices.DeleteFunc(s.containers, func(c *container) bool {
		if c.sandbox == id {
			s.exit(c, 137, "Error")
			return true
		}
		return false
	})
	s.sandboxes = slices.DeleteFunc(s.sandboxes, func(o *sandbox) bool { return o == b })
	return nil
}

// PodSandboxStatus implements runtime.Sandboxes.
func (s *Service) PodSandboxStatus(ctx context.Context, id string) (*cri.PodSandboxStatus, error) {
	if err := s.beginCall(ctx, "PodSandboxStatus"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.findSandbox(id)
	if b == nil {
		return nil, notFound("sandbox", id)
	}
	return &cri.PodSandboxStatus{Id: id, Metadata: b.config.GetMetadata(), State: b.state, CreatedAt: b.created,
		Network: &cri.PodSandboxNetworkStatus{Ip: b.ip}, Labels: b.config.GetLabels(), Annotations: b.config.GetAnnotations(), RuntimeHandler: b.handler}, nil
}

// ListPodSandbox implements runtime.Sandboxes.
func (s *Service) ListPodSandbox(ctx context.Context, filter *cri.PodSandboxFilter) (out []*cri.PodSandbox, err error) {
	if err := s.beginCall(ctx, "ListPodSandbox"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.sandboxes {
		if filter.GetId() != "" && filter.GetId() != b.id || filter.GetState() != nil && filter.GetState().State != b.state ||
			!matchesLabels(filter.GetLabelSelector(), b.config.GetLabels()) {
			continue
		}
		out = append(out, &cri.PodSandbox{Id: b.id, Metadata: b.config.GetMetadata(), State: b.state, CreatedAt: b.created,
			Labels: b.config.GetLabels(), Annotations: b.config.GetAnnotations(), RuntimeHandler: b.handler})
	}
	return out, nil
}

// SandboxConfig returns the configuration of the pod's newest sandbox, or nil.
func (s *Service) SandboxConfig(pod string) *cri.PodSandboxConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range slices.Backward(s.sandboxes) {
		if b.config.GetMetadata().GetName() == pod {
			return b.config
		}
	}
	return nil
}

// PortForward implements runtime.Sandboxes.
func (s *Service) PortForward(ctx context.Context, r *cri.PortForwardRequest) (string, error) {
	return s.streamURL(ctx, "PortForward", r.GetPodSandboxId())
}

// streamURL returns a URL without a server.
func (s *Service) streamURL(ctx context.Context, method, id string) (string, error) {
	if err := s.beginCall(ctx, method); err != nil {
		return "", err
	}
	return "http://127.0.0.1:1/" + method + "/" + id, nil
}

// findSandbox returns the sandbox with that ID, or nil. s.mu must be held.
func (s *Service) findSandbox(id string) *sandbox {
	for _, b := range s.sandboxes {
		if b.id == id {
			return b
		}
	}
	return nil
}

// matchesLabels reports whether labels contain all of selector.
func matchesLabels(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}
