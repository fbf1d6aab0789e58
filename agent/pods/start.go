package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// Exit codes of the field.
const (
	exitCodeKilled     = 137 // 128 + SIGKILL
	exitCodeStartError = 128 // could not be started
)

// Pauses between tries of what fails.
const (
	initialRetryDelay = time.Second
	maxRetryDelay     = 10 * time.Second
)

// WaitingError is why a container does not start yet, as its state says it.
type WaitingError struct {
	Reason, Message string
	// RetryAt is when it makes sense to try again; zero leaves that to the Runner.
	RetryAt time.Time
}

func (w *WaitingError) Error() string { return w.Message }

// attemptStart takes a run one step on: to a container that runs, or to the reason why not.
func (p *pod) attemptStart(c *run) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	p.mu.Lock()
	c.cancel = cancel
	stop := c.stopping && !c.mayBeRunning()
	p.mu.Unlock()
	if stop {
		cancel()
	}
	p.completeStart(c, p.startContainer(ctx, c))
}

// reportWaiting reports why a try failed, and says how long to wait before the next. p.mu is held.
func (p *pod) reportWaiting(c *run, err error) time.Duration {
	wait := min(p.runner.retryDelay<<min(c.failures-1, 8), maxRetryDelay)
	var w *WaitingError
	if !errors.As(err, &w) {
		w = &WaitingError{Reason: "ContainerCreating", Message: err.Error()}
	}
	if !w.RetryAt.IsZero() {
		wait = max(time.Until(w.RetryAt), 10*time.Millisecond)
	}
	p.runner.opts.Log.V(1).Info("Container does not start yet", "pod", podKey(p.object), "container", c.name, "reason", w.Reason, "why", err.Error(), "again", wait)
	p.report(podlifecycle.Waiting{Container: c.name, Reason: w.Reason, Message: w.Message}, c)
	return wait
}

// startContainer does what is left to do until the container runs and its postStart hook has ended. It may be
// called again after an error. ctx ends when the container is not to start any more;
// calls that change something in the runtime are not broken off for that.
func (p *pod) startContainer(ctx context.Context, c *run) error {
	if done, err := p.adoptContainer(ctx, c); done || err != nil {
		return err
	}
	spec := findContainer(p.latest(), c.name)
	if spec == nil {
		return &WaitingError{Reason: "CreateContainerConfigError", Message: fmt.Sprintf("pod has no container %q", c.name)}
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	b, err := p.ensureSandbox(ctx)
	if err != nil {
		return err
	}
	ref, err := p.runner.opts.Images.Ensure(ctx, p.latest(), spec, b.config)
	if err != nil {
		return err
	}
	config, err := p.containerConfig(ctx, c, spec, ref)
	if err != nil {
		return &WaitingError{Reason: "CreateContainerConfigError", Message: err.Error()}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.createContainer(c, b, config); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		p.discard(c)
		return err
	}
	if err := p.launch(c); err != nil {
		return err // reported as its end, unless the agent ends
	}
	return p.postStart(ctx, c, spec)
}

// createContainer makes the container.
func (p *pod) createContainer(c *run, b *podSandbox, config *cri.ContainerConfig) error {
	r := p.runner
	id, err := r.opts.Service.CreateContainer(r.ctx, b.id, config, b.config)
	if err != nil {
		r.recordEvent(p.latest(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
		p.mu.Lock()
		c.outcomeUnknown = true
		p.mu.Unlock()
		return createError(err)
	}
	info := &runtime.ContainerInfo{Name: c.name, ID: r.containerID(id), Image: config.Image.GetImage()}
	p.mu.Lock()
	c.id, c.info = id, info
	pod := p.object
	p.mu.Unlock()
	r.recordEvent(pod, c.name, corev1.EventTypeNormal, "Created", "Container created")
	return nil
}

// launch starts the container that was created. When it cannot be started, that is its end.
func (p *pod) launch(c *run) error {
	r := p.runner
	p.mu.Lock()
	c.started, c.startedAt = true, time.Now() // from now on its end may be seen
	p.mu.Unlock()
	r.track(c)
	err := r.opts.Service.StartContainer(r.ctx, c.id)
	status, unseen := r.opts.Service.ContainerStatus(r.ctx, c.id)
	told := p.recordStart(c, err, status, unseen)
	if told == nil {
		r.recordEvent(p.latest(), c.name, corev1.EventTypeNormal, "Started", "Container started")
	} else if r.ctx.Err() == nil {
		r.recordEvent(p.latest(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+errorMessage(told))
	}
	return told
}

// recordStart takes in what came of starting a container: err, and its status unless that is unseen.
func (p *pod) recordStart(c *run, err error, status *cri.ContainerStatus, unseen error) error {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	if unseen == nil {
		c.info = r.containerInfo(c.name, status)
		if status.GetStartedAt() > 0 {
			c.startedAt = timeFromNanos(status.GetStartedAt())
		}
	}
	switch {
	case c.state == stateExited:
		return err
	case err == nil || unseen == nil && status.GetState() == cri.ContainerState_CONTAINER_RUNNING:
		return nil
	case unseen != nil || isOutcomeUnknown(err) && status.GetState() == cri.ContainerState_CONTAINER_CREATED:
		c.started, c.outcomeUnknown = false, true
		r.untrack(c.id)
		return &WaitingError{Reason: "RunContainerError", Message: errorMessage(err)}
	}
	if isOutcomeUnknown(err) { // it was heard before the runtime went away: what came of it counts
		p.finish(c, p.exitEvent(c, status))
		return err
	}
	e := podlifecycle.Exited{Container: c.name, Code: exitCodeStartError, Reason: "StartError", Message: errorMessage(err)}
	if status.GetState() == cri.ContainerState_CONTAINER_EXITED && status.GetExitCode() != 0 {
		e.Code = status.GetExitCode()
	}
	p.finish(c, e)
	return err
}

// discard removes a container that was created and is not to start.
func (p *pod) discard(c *run) {
	r := p.runner
	if err := r.opts.Service.RemoveContainer(r.ctx, c.id); err != nil {
		r.opts.Log.Error(err, "A container that was not started cannot be removed", "pod", podKey(p.latest()), "container", c.id)
	}
}

// findContainer is a container of a pod by name.
func findContainer(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
