package fake

import (
	"context"
	"os"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStatus implements runtime.Containers.
func (s *Service) ContainerStatus(ctx context.Context, id string) (*cri.ContainerStatus, error) {
	if err := s.beginCall(ctx, "ContainerStatus"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.findContainer(id)
	if c == nil {
		return nil, notFound("container", id)
	}
	return copyStatus(c.status), nil
}

// copyStatus returns a copy that later changes of the container do not affect.
func copyStatus(c *cri.ContainerStatus) *cri.ContainerStatus {
	return &cri.ContainerStatus{Id: c.Id, Metadata: c.Metadata, State: c.State, CreatedAt: c.CreatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
		ExitCode: c.ExitCode, Image: c.Image, ImageRef: c.ImageRef, ImageId: c.ImageId, Reason: c.Reason, Message: c.Message,
		Labels: c.Labels, Annotations: c.Annotations, Mounts: c.Mounts, LogPath: c.LogPath}
}

// ListContainers implements runtime.Containers.
func (s *Service) ListContainers(ctx context.Context, filter *cri.ContainerFilter) (out []*cri.Container, err error) {
	if err := s.beginCall(ctx, "ListContainers"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.containers {
		if filter.GetId() != "" && filter.GetId() != c.status.Id || filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.sandbox ||
			filter.GetState() != nil && filter.GetState().State != c.status.State || !matchesLabels(filter.GetLabelSelector(), c.config.GetLabels()) {
			continue
		}
		out = append(out, &cri.Container{Id: c.status.Id, PodSandboxId: c.sandbox, Metadata: c.status.Metadata, Image: c.status.Image,
			ImageRef: c.status.ImageRef, ImageId: c.status.ImageId, State: c.status.State, CreatedAt: c.status.CreatedAt,
			Labels: c.status.Labels, Annotations: c.status.Annotations})
	}
	return out, nil
}

// Config returns the configuration of a container, or nil.
func (s *Service) Config(id string) *cri.ContainerConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.findContainer(id); c != nil {
		return c.config
	}
	return nil
}

// SetStats sets the statistics of a container.
func (s *Service) SetStats(stats *cri.ContainerStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats[stats.GetAttributes().GetId()] = stats
}

// ListContainerStats implements runtime.Containers. It returns what SetStats has set.
func (s *Service) ListContainerStats(ctx context.Context, filter *cri.ContainerStatsFilter) (out []*cri.ContainerStats, err error) {
	if err := s.beginCall(ctx, "ListContainerStats"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.containers {
		if st := s.stats[c.status.Id]; st != nil && (filter.GetId() == "" || filter.GetId() == c.status.Id) &&
			(filter.GetPodSandboxId() == "" || filter.GetPodSandboxId() == c.sandbox) && matchesLabels(filter.GetLabelSelector(), c.config.GetLabels()) {
			out = append(out, st)
		}
	}
	return out, nil
}

// OnExec sets the function that answers ExecSync. By default every command exits with 0 and
// prints nothing.
func (s *Service) OnExec(f func(container *cri.ContainerStatus, command []string) (*cri.ExecSyncResponse, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onExec = f
}

// ExecSync implements runtime.Containers.
func (s *Service) ExecSync(ctx context.Context, id string, command []string, _ time.Duration) (*cri.ExecSyncResponse, error) {
	if err := s.beginCall(ctx, "ExecSync"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	c, f := s.findContainer(id), s.onExec
	var snapshot *cri.ContainerStatus
	if c != nil {
		s.recordCall("ExecSync", c.config.GetMetadata().GetName())
		snapshot = copyStatus(c.status)
	}
	s.mu.Unlock()
	if c == nil {
		return nil, notFound("container", id)
	}
	if f == nil {
		return &cri.ExecSyncResponse{}, nil
	}
	return f(snapshot, command)
}

// Exec implements runtime.Containers.
func (s *Service) Exec(ctx context.Context, r *cri.ExecRequest) (string, error) {
	return s.streamURL(ctx, "Exec", r.GetContainerId())
}

// Attach implements runtime.Containers.
func (s *Service) Attach(ctx context.Context, r *cri.AttachRequest) (string, error) {
	return s.streamURL(ctx, "Attach", r.GetContainerId())
}

// ReopenContainerLog implements runtime.Containers.
func (s *Service) ReopenContainerLog(ctx context.Context, id string) error {
	if err := s.beginCall(ctx, "ReopenContainerLog"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	s.recordCall("ReopenContainerLog", c.config.GetMetadata().GetName())
	f, err := os.OpenFile(c.status.LogPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	return f.Close()
}
