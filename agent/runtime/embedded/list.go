package embedded

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// matches reports whether id is the requested ID; "" matches all.
func matches(requested, id string) bool { return requested == "" || requested == id }

func matchesLabels(selector, labels map[string]string) bool {
	for k, v := range selector {
		if value, ok := labels[k]; !ok || value != v {
			return false
		}
	}
	return true
}

// sortNewestFirst sorts by creation time, as CRI requires, and then by ID.
func sortNewestFirst[T any](list []T, key func(T) (created int64, id string)) {
	slices.SortFunc(list, func(a, b T) int {
		createdA, idA := key(a)
		createdB, idB := key(b)
		return cmp.Or(cmp.Compare(createdB, createdA), cmp.Compare(idA, idB))
	})
}

func (r *Runtime) allContainers() []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*container, 0, len(r.containers))
	for _, c := range r.containers {
		list = append(list, c)
	}
	return list
}

// ListContainers lists the containers that match filter; nil matches all.
func (r *Runtime) ListContainers(_ context.Context, filter *cri.ContainerFilter) (out []*cri.Container, err error) {
	for _, c := range r.allContainers() {
		config, state := c.record.Config, c.state()
		if !matches(filter.GetId(), c.record.ID) || !matches(filter.GetPodSandboxId(), c.record.Sandbox) ||
			filter.GetState() != nil && filter.GetState().GetState() != state || !matchesLabels(filter.GetLabelSelector(), config.GetLabels()) {
			continue
		}
		out = append(out, &cri.Container{Id: c.record.ID, PodSandboxId: c.record.Sandbox, Metadata: config.GetMetadata(), Image: config.GetImage(),
			ImageRef: c.record.ImageRef, ImageId: c.record.ImageID, State: state, CreatedAt: c.record.Created.UnixNano(),
			Labels: config.GetLabels(), Annotations: config.GetAnnotations()})
	}
	sortNewestFirst(out, func(c *cri.Container) (int64, string) { return c.CreatedAt, c.Id })
	return out, nil
}

// ContainerStatus returns the status of a container.
func (r *Runtime) ContainerStatus(_ context.Context, id string) (*cri.ContainerStatus, error) {
	c := r.findContainer(id)
	if c == nil {
		return nil, notFound("container", id)
	}
	config, state := c.record.Config, c.state()
	s := &cri.ContainerStatus{Id: id, Metadata: config.GetMetadata(), State: state, CreatedAt: c.record.Created.UnixNano(), Image: c.record.image(),
		ImageRef: c.record.ImageRef, ImageId: c.record.ImageID, Labels: config.GetLabels(), Annotations: config.GetAnnotations(), Mounts: config.GetMounts(),
		LogPath: c.record.Log}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.started.IsZero() {
		s.StartedAt = c.started.UnixNano()
	}
	if c.user != nil {
		s.User = &cri.ContainerUser{Linux: c.user}
	}
	if e := c.exit; e != nil {
		s.FinishedAt, s.ExitCode, s.Reason, s.Message = e.Finished.UnixNano(), int32(e.Code), e.Reason, e.Message
		switch {
		case c.oom:
			s.Reason = "OOMKilled"
		case s.Reason == "" && e.Code == 0:
			s.Reason = "Completed"
		case s.Reason == "":
			s.Reason = "Error"
		}
	}
	return s, nil
}

// logPath returns the path of a container's log, or "".
func logPath(config *cri.ContainerConfig, sandboxConfig *cri.PodSandboxConfig) string {
	if config.GetLogPath() == "" || sandboxConfig.GetLogDirectory() == "" {
		return ""
	}
	return filepath.Join(sandboxConfig.GetLogDirectory(), config.GetLogPath())
}
