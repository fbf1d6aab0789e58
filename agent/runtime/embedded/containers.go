package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func (r *Runtime) findContainer(id string) *container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.containers[id]
}

// CreateContainer creates a container in a sandbox.
func (r *Runtime) CreateContainer(_ context.Context, sandbox string, config *cri.ContainerConfig, sandboxConfig *cri.PodSandboxConfig) (string, error) {
	s := r.findSandbox(sandbox)
	if s == nil {
		return "", notFound("sandbox", sandbox)
	}
	if err := checkContainerSupported(config, s.sharesPIDNamespace()); err != nil {
		return "", err
	}
	s.opMu.Lock() // prevents the removal of the sandbox
	defer s.opMu.Unlock()
	if !s.ready() {
		return "", status.Errorf(codes.FailedPrecondition, "sandbox %s is not ready", sandbox)
	}
	if err := r.checkTarget(config, sandbox); err != nil {
		return "", err
	}
	id := newID()
	dir := filepath.Join(r.opts.containersDir(), id)
	if err := os.Mkdir(dir, 0o700); err != nil { // after a crash the directory identifies the other resources
		return "", err
	}
	image, err := r.opts.Images.Acquire(id, config.GetImage().GetImage())
	if err != nil {
		return "", withStatusCode(errors.Join(err, os.RemoveAll(dir)))
	}
	ref := image.ID
	if len(image.RepoDigests) > 0 {
		ref = image.RepoDigests[0]
	}
	c := newContainer(dir, containerRecord{ID: id, Sandbox: sandbox, Created: time.Now(), ImageID: image.ID, ImageRef: ref,
		ImageName: imageName(image, config.GetImage()), Group: path.Join(path.Dir(s.record.Group), id), Log: logPath(config, s.record.Config), StopSignal: image.Config.StopSignal, Config: config})
	if signal := config.GetStopSignal(); signal != 0 {
		c.record.StopSignal = signal.String()
	}
	r.mu.Lock()
	r.containers[id] = c
	r.mu.Unlock()
	err = c.record.save(c.dir)
	if err == nil {
		err = r.createCgroup(c)
	}
	if err == nil {
		err = c.writeSpec(r, s, image)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("container %s: %w", config.GetMetadata().GetName(), err), r.removeContainer(c))
	}
	return id, nil
}

func (r *Runtime) createCgroup(c *container) error {
	res := c.record.Config.GetLinux().GetResources()
	if err := r.host.Create(c.record.Group, cgroupLimits(res)); err != nil {
		return err
	}
	return r.setUnified(c.record.Group, res.GetUnified())
}

// StartContainer starts a created container.
func (r *Runtime) StartContainer(_ context.Context, id string) error {
	c := r.findContainer(id)
	if c == nil {
		return notFound("container", id)
	}
	c.opMu.Lock()
	defer c.opMu.Unlock()
	if state := c.state(); state != cri.ContainerState_CONTAINER_CREATED {
		return status.Errorf(codes.FailedPrecondition, "container %s is %v: only a created container can be started", id, state)
	}
	s := r.findSandbox(c.record.Sandbox)
	if s == nil {
		return notFound("sandbox", c.record.Sandbox)
	}
	unlock, err := r.lockTarget(c)
	if err != nil {
		return err
	}
	defer unlock()
	err = c.launch(r, s)
	var startErr *StartError
	if errors.As(err, &startErr) { // the exit status is recorded when the shim exits
		timer := time.NewTimer(killTimeout)
		defer timer.Stop()
		select {
		case <-c.exited:
		case <-timer.C: // the kernel hangs
		}
	}
	if err != nil {
		return status.Errorf(codes.Unknown, "starting container %s: %v", c.record.Config.GetMetadata().GetName(), err)
	}
	return nil
}

// StopContainer stops the container and kills it after grace; 0 kills it immediately. It succeeds
// if the container has exited or does not exist.
func (r *Runtime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	c := r.findContainer(id)
	if c == nil {
		return nil
	}
	if p := c.runningProcess(); p != nil && grace > 0 {
		p.kill(stopSignal(c.record.StopSignal))
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-c.exited:
			return nil
		case <-t.C:
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return r.kill(ctx, c)
}

// kill kills a container if it is running, and waits until it has exited.
func (r *Runtime) kill(ctx context.Context, c *container) error {
	if c.state() != cri.ContainerState_CONTAINER_RUNNING {
		return nil
	}
	timer := time.NewTimer(killTimeout)
	defer timer.Stop()
	retry := time.NewTicker(100 * time.Millisecond)
	defer retry.Stop()
	for {
		if p := c.runningProcess(); p != nil {
			p.kill(syscall.SIGKILL)
		}
		if err := r.host.Kill(c.record.Group); err != nil {
			return err
		}
		select {
		case <-c.exited:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-timer.C:
			return status.Errorf(codes.DeadlineExceeded, "container %s did not exit within %v after SIGKILL", c.record.ID, killTimeout)
		case <-retry.C:
		}
	}
}

// RemoveContainer kills and removes a container. It succeeds if the container does not exist.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	c := r.findContainer(id)
	if c == nil {
		return nil
	}
	c.opMu.Lock()
	defer c.opMu.Unlock()
	if err := r.kill(ctx, c); err != nil {
		return err
	}
	return r.removeContainer(c)
}

// removeContainer kills the processes of a container and removes everything of it.
func (r *Runtime) removeContainer(c *container) error {
	if err := r.removeCgroup(c.record.Group); err != nil {
		return err
	}
	if err := r.releaseImageMounts(c); err != nil {
		return err
	}
	if err := r.removeFiles(c.dir, c.record.ID); err != nil {
		return err
	}
	r.dropLayerSize(c.record.ID)
	c.closeHandles()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.containers, c.record.ID)
	return nil
}

// removeFiles removes the container's directory and its reference to the image. It removes the
// writable layer first, in case the disk is full, and the records last.
func (r *Runtime) removeFiles(dir, id string) error {
	if err := os.RemoveAll(filepath.Join(dir, "upper")); err != nil {
		return err
	}
	if err := r.opts.Images.Release(id); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
