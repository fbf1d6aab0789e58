package fake

import (
	"context"
	"fmt"
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// sandbox is a sandbox of the fake runtime.
type sandbox struct {
	id, handler string
	config      *cri.PodSandboxConfig
	state       cri.PodSandboxState
	created     int64 // Unix time in nanoseconds
	ip          string
}

// RunPodSandbox implements runtime.Sandboxes.
func (s *Service) RunPodSandbox(ctx context.Context, config *cri.PodSandboxConfig, handler string) (string, error) {
	if err := s.beginCall(ctx, "RunPodSandbox"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sb := &sandbox{id: s.newID(), handler: handler, config: config, created: now()}
	if config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() != cri.NamespaceMode_NODE {
		sb.ip = fmt.Sprintf("10.88.%d.%d", s.serial/250, s.serial%250+2)
	}
	s.sandboxes = append(s.sandboxes, sb)
	s.recordCall("RunPodSandbox", config.GetMetadata().GetName())
	return sb.id, nil
}

// StopPodSandbox implements runtime.Sandboxes. It kills the containers.
func (s *Service) StopPodSandbox(ctx context.Context, id string) error {
	if err := s.beginCall(ctx, "StopPodSandbox"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sb := s.findSandbox(id)
	if sb == nil {
		return nil // as in containerd
	}
	s.recordCall("StopPodSandbox", sb.config.GetMetadata().GetName())
	for _, c := range s.containers {
		if c.sandbox == id {
			s.exit(c, exitCodeSIGKILL, "Error")
		}
	}
	s.markNotReady(sb)
	return nil
}

// markNotReady makes a sandbox not ready. s.mu must be held.
func (s *Service) markNotReady(sb *sandbox) {
	if sb.state != cri.PodSandboxState_SANDBOX_NOTREADY {
		sb.state = cri.PodSandboxState_SANDBOX_NOTREADY
		s.publish(runtime.ContainerEvent{Container: sb.id})
	}
}

// KillSandbox ends the process of a pod's sandbox as if it was killed. Its containers keep
// running.
func (s *Service) KillSandbox(pod string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sb := range s.sandboxes {
		if sb.config.GetMetadata().GetName() == pod {
			s.markNotReady(sb)
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
	sb := s.findSandbox(id)
	if sb == nil {
		return nil
	}
	s.recordCall("RemovePodSandbox", sb.config.GetMetadata().GetName())
	s.containers = slices.DeleteFunc(s.containers, func(c *container) bool {
		if c.sandbox == id {
			s.exit(c, exitCodeSIGKILL, "Error")
			return true
		}
		return false
	})
	s.sandboxes = slices.DeleteFunc(s.sandboxes, func(other *sandbox) bool { return other == sb })
	return nil
}

// PodSandboxStatus implements runtime.Sandboxes.
func (s *Service) PodSandboxStatus(ctx context.Context, id string) (*cri.PodSandboxStatus, error) {
	if err := s.beginCall(ctx, "PodSandboxStatus"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sb := s.findSandbox(id)
	if sb == nil {
		return nil, notFound("sandbox", id)
	}
	return &cri.PodSandboxStatus{Id: id, Metadata: sb.config.GetMetadata(), State: sb.state, CreatedAt: sb.created,
		Network: &cri.PodSandboxNetworkStatus{Ip: sb.ip}, Labels: sb.config.GetLabels(), Annotations: sb.config.GetAnnotations(), RuntimeHandler: sb.handler}, nil
}

// ListPodSandbox implements runtime.Sandboxes.
func (s *Service) ListPodSandbox(ctx context.Context, filter *cri.PodSandboxFilter) (out []*cri.PodSandbox, err error) {
	if err := s.beginCall(ctx, "ListPodSandbox"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sb := range s.sandboxes {
		if filter.GetId() != "" && filter.GetId() != sb.id || filter.GetState() != nil && filter.GetState().State != sb.state ||
			!matchesLabels(filter.GetLabelSelector(), sb.config.GetLabels()) {
			continue
		}
		out = append(out, &cri.PodSandbox{Id: sb.id, Metadata: sb.config.GetMetadata(), State: sb.state, CreatedAt: sb.created,
			Labels: sb.config.GetLabels(), Annotations: sb.config.GetAnnotations(), RuntimeHandler: sb.handler})
	}
	return out, nil
}

// SandboxConfig returns the configuration of the pod's newest sandbox, or nil.
func (s *Service) SandboxConfig(pod string) *cri.PodSandboxConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sb := range slices.Backward(s.sandboxes) {
		if sb.config.GetMetadata().GetName() == pod {
			return sb.config
		}
	}
	return nil
}

// PortForward implements runtime.Sandboxes.
func (s *Service) PortForward(ctx context.Context, r *cri.PortForwardRequest) (string, error) {
	return s.streamURL(ctx, "PortForward", r.GetPodSandboxId())
}

// streamURL returns a URL at which no server listens.
func (s *Service) streamURL(ctx context.Context, method, id string) (string, error) {
	if err := s.beginCall(ctx, method); err != nil {
		return "", err
	}
	return "http://127.0.0.1:1/" + method + "/" + id, nil
}

// findSandbox returns the sandbox with that ID, or nil. s.mu must be held.
func (s *Service) findSandbox(id string) *sandbox {
	for _, sb := range s.sandboxes {
		if sb.id == id {
			return sb
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
