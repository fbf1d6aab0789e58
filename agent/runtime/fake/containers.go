package fake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
)

// container is a container of the fake runtime.
type container struct {
	sandbox string // ID
	config  *cri.ContainerConfig
	status  *cri.ContainerStatus
	exited  chan struct{} // closed when the container has exited
}

// Exit codes of containers that a signal has killed: 128+15 for SIGTERM, 128+9 for SIGKILL.
const (
	exitCodeSIGTERM = 143
	exitCodeSIGKILL = 137
)

// CreateContainer implements runtime.Containers.
func (s *Service) CreateContainer(ctx context.Context, sandboxID string, config *cri.ContainerConfig, sandboxConfig *cri.PodSandboxConfig) (string, error) {
	if err := s.beginCall(ctx, "CreateContainer"); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sandbox := s.findSandbox(sandboxID)
	if sandbox == nil {
		return "", notFound("sandbox", sandboxID)
	}
	if sandbox.state != cri.PodSandboxState_SANDBOX_READY {
		return "", status.Errorf(codes.FailedPrecondition, "sandbox %q is not running", sandboxID)
	}
	for _, c := range s.containers {
		if c.sandbox == sandboxID && c.config.GetMetadata().GetName() == config.GetMetadata().GetName() && c.config.GetMetadata().GetAttempt() == config.GetMetadata().GetAttempt() {
			return "", status.Errorf(codes.AlreadyExists, "name of container %v is reserved", config.GetMetadata())
		}
	}
	image := s.findImage(config.GetImage().GetImage())
	if image == nil {
		return "", notFound("image", config.GetImage().GetImage())
	}
	id := s.newID()
	s.containers = append(s.containers, &container{sandbox: sandboxID, config: config, exited: make(chan struct{}), status: &cri.ContainerStatus{
		Id: id, Metadata: config.GetMetadata(), State: cri.ContainerState_CONTAINER_CREATED, CreatedAt: now(), Image: config.GetImage(),
		ImageRef: image.GetId(), ImageId: image.GetId(), Labels: config.GetLabels(), Annotations: config.GetAnnotations(), Mounts: config.GetMounts(),
		LogPath: filepath.Join(sandboxConfig.GetLogDirectory(), config.GetLogPath()),
	}})
	s.recordCall("CreateContainer", config.GetMetadata().GetName())
	return id, nil
}

// UpdateContainerResources implements runtime.Containers. It copies the nonzero values of resources
// to the container's configuration, and records the call.
func (s *Service) UpdateContainerResources(ctx context.Context, id string, resources *cri.LinuxContainerResources) error {
	if err := s.beginCall(ctx, "UpdateContainerResources"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	current := c.config.GetLinux().GetResources()
	if m := resources.GetMemoryLimitInBytes(); m != 0 {
		current.MemoryLimitInBytes = m
	}
	if n := resources.GetCpuShares(); n != 0 {
		current.CpuShares = n
	}
	if q := resources.GetCpuQuota(); q != 0 {
		current.CpuQuota, current.CpuPeriod = q, resources.GetCpuPeriod()
	}
	s.recordCall("UpdateContainerResources", fmt.Sprintf("%s memory=%d shares=%d quota=%d", c.config.GetMetadata().GetName(),
		resources.GetMemoryLimitInBytes(), resources.GetCpuShares(), resources.GetCpuQuota()))
	return nil
}

// StartContainer implements runtime.Containers.
func (s *Service) StartContainer(ctx context.Context, id string) error {
	if err := s.beginCall(ctx, "StartContainer"); err != nil {
		return err
	}
	s.mu.Lock()
	c := s.findContainer(id)
	if c == nil {
		s.mu.Unlock()
		return notFound("container", id)
	}
	if c.status.State != cri.ContainerState_CONTAINER_CREATED {
		s.mu.Unlock()
		return status.Errorf(codes.FailedPrecondition, "container %q is in state %v", id, c.status.State)
	}
	c.status.State, c.status.StartedAt = cri.ContainerState_CONTAINER_RUNNING, now()
	s.recordCall("StartContainer", c.config.GetMetadata().GetName())
	onStart, snapshot := s.onStart, copyStatus(c.status)
	s.mu.Unlock()
	if onStart != nil {
		onStart(snapshot)
	}
	return nil
}

// OnStart sets a function that is called for each started container, without locks held, before
// StartContainer returns.
func (s *Service) OnStart(f func(*cri.ContainerStatus)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onStart = f
}

// IgnoreSIGTERM makes containers with this name exit only when they are killed.
func (s *Service) IgnoreSIGTERM(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignoresSIGTERM[name] = true
}

// StopContainer implements runtime.Containers.
func (s *Service) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	if err := s.beginCall(ctx, "StopContainer"); err != nil {
		return err
	}
	s.mu.Lock()
	c := s.findContainer(id)
	if c == nil {
		s.mu.Unlock()
		return notFound("container", id)
	}
	name := c.config.GetMetadata().GetName()
	s.recordCall(fmt.Sprintf("StopContainer(%v)", grace), name)
	if grace > 0 && !s.ignoresSIGTERM[name] {
		s.exit(c, exitCodeSIGTERM, "Error")
	}
	s.mu.Unlock()
	if grace > 0 {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-c.exited:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-timer.C:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exit(c, exitCodeSIGKILL, "Error")
	return nil
}

// RemoveContainer implements runtime.Containers. It kills a running container.
func (s *Service) RemoveContainer(ctx context.Context, id string) error {
	if err := s.beginCall(ctx, "RemoveContainer"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.findContainer(id)
	if c == nil {
		return nil
	}
	s.recordCall("RemoveContainer", c.config.GetMetadata().GetName())
	s.exit(c, exitCodeSIGKILL, "Error")
	s.containers = slices.DeleteFunc(s.containers, func(other *container) bool { return other == c })
	return nil
}

// Exit ends a running container of a pod. An empty reason becomes "Error" or "Completed". It
// reports whether there was such a container.
func (s *Service) Exit(pod, name string, code int32, reason string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.containers {
		sandbox := s.findSandbox(c.sandbox)
		if sandbox != nil && sandbox.config.GetMetadata().GetName() == pod && c.config.GetMetadata().GetName() == name && c.status.State == cri.ContainerState_CONTAINER_RUNNING {
			s.exit(c, code, reason)
			return true
		}
	}
	return false
}

// exit ends a container once. s.mu must be held.
func (s *Service) exit(c *container, code int32, reason string) {
	if c.status.State == cri.ContainerState_CONTAINER_EXITED {
		return
	}
	if reason == "" {
		reason = "Error"
		if code == 0 {
			reason = "Completed"
		}
	}
	wasRunning := c.status.State == cri.ContainerState_CONTAINER_RUNNING
	c.status.State, c.status.ExitCode, c.status.Reason, c.status.FinishedAt = cri.ContainerState_CONTAINER_EXITED, code, reason, now()
	close(c.exited)
	if wasRunning {
		s.publish(runtime.ContainerEvent{Container: c.status.Id})
	}
}

// SendOOMEvent publishes an OOM event for a container, whether or not one happened.
func (s *Service) SendOOMEvent(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish(runtime.ContainerEvent{Container: id, OOM: true})
}

// findContainer returns the container with that ID, or nil. s.mu must be held.
func (s *Service) findContainer(id string) *container {
	for _, c := range s.containers {
		if c.status.Id == id {
			return c
		}
	}
	return nil
}

// Log appends a line to a container's log in CRI format.
func (s *Service) Log(id, stream, line string) error {
	s.mu.Lock()
	c := s.findContainer(id)
	s.mu.Unlock()
	if c == nil {
		return notFound("container", id)
	}
	f, err := os.OpenFile(c.status.LogPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s F %s\n", time.Now().UTC().Format(time.RFC3339Nano), stream, line)
	return err
}
