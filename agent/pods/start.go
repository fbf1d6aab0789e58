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

// Exit codes in container statuses.
const (
	exitCodeKilled     = 137 // 128 + SIGKILL
	exitCodeStartError = 128 // the container could not be started
)

// Delays between attempts to start a container.
const (
	initialRetryDelay = time.Second
	maxRetryDelay     = 10 * time.Second
)

// WaitingError reports why a container does not start yet: the reason and message of its waiting
// state.
type WaitingError struct {
	Reason, Message string
	// RetryAt is the earliest time for another attempt; if zero, the Runner chooses it.
	RetryAt time.Time
}

// Error implements error.
func (e *WaitingError) Error() string { return e.Message }

// attemptStart makes one attempt to start a run and processes the result.
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

// reportWaiting reports why an attempt failed and returns the delay before the next. p.mu must be
// held.
func (p *pod) reportWaiting(c *run, err error) time.Duration {
	wait := min(p.runner.retryDelay<<min(c.failures-1, 8), maxRetryDelay)
	var w *WaitingError
	if !errors.As(err, &w) {
		w = &WaitingError{Reason: "ContainerCreating", Message: err.Error()}
		if len(p.object.Spec.InitContainers) > 0 {
			w.Reason = "PodInitializing"
		}
	}
	if !w.RetryAt.IsZero() {
		wait = max(time.Until(w.RetryAt), 10*time.Millisecond)
	}
	p.runner.opts.Log.V(1).Info("Container does not start yet", "pod", podKey(p.object), "container", c.name, "reason", w.Reason, "err", err.Error(), "retryAfter", wait)
	p.report(podlifecycle.Waiting{Container: c.name, Reason: w.Reason, Message: w.Message}, c)
	return wait
}

// startContainer performs the remaining steps until the container runs and its postStart hook has
// completed. It may be called again after an error. ctx ends when the container is to be stopped.
// The end of ctx does not interrupt calls that change the runtime's state.
func (p *pod) startContainer(ctx context.Context, c *run) error {
	if done, err := p.adoptContainer(ctx, c); done || err != nil {
		return err
	}
	spec := findContainer(p.latest(), c.name)
	if spec == nil {
		return &WaitingError{Reason: "CreateContainerConfigError", Message: fmt.Sprintf("pod has no container %q", c.name)}
	}
	if err := p.prepare(ctx, c.name); err != nil {
		return err
	}
	if c.attempt > 0 { // the last run may have failed because of outdated content in its volumes
		p.runner.opts.Volumes.Refresh(ctx, p.latest().UID)
	}
	sandbox, err := p.ensureSandbox(ctx)
	if err != nil {
		return err
	}
	ref, err := p.runner.opts.Images.Ensure(ctx, p.latest(), spec, sandbox.config)
	if err != nil {
		return err
	}
	if err := p.ensureImageVolumes(ctx, spec, sandbox.config); err != nil {
		return err
	}
	config, err := p.containerConfig(ctx, c, spec, ref)
	if err != nil {
		if ctx.Err() == nil {
			p.runner.recordEvent(p.latest(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
		}
		return &WaitingError{Reason: "CreateContainerConfigError", Message: err.Error()}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.mu.Lock()
	c.resources = &spec.Resources
	p.mu.Unlock()
	if err := p.createContainer(c, sandbox, config); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		p.discard(c)
		return err
	}
	if err := p.launch(c); err != nil {
		return err // reported as exited, unless the agent stops
	}
	return p.postStart(ctx, c, spec)
}

// createContainer creates the container of a run. After an error the runtime may have created it.
func (p *pod) createContainer(c *run, sandbox *podSandbox, config *cri.ContainerConfig) error {
	r := p.runner
	id, err := r.opts.Service.CreateContainer(r.ctx, sandbox.id, config, sandbox.config)
	if err != nil {
		r.recordEvent(p.latest(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+errorMessage(err))
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

// launch starts the created container. A failure to start is reported as its exit.
func (p *pod) launch(c *run) error {
	r := p.runner
	p.mu.Lock()
	c.started, c.startedAt = true, time.Now() // from now on its exit may be observed
	p.mu.Unlock()
	r.track(c)
	err := r.opts.Service.StartContainer(r.ctx, c.id)
	status, statusErr := r.opts.Service.ContainerStatus(r.ctx, c.id)
	startErr := p.recordStart(c, err, status, statusErr)
	if startErr == nil {
		r.recordEvent(p.latest(), c.name, corev1.EventTypeNormal, "Started", "Container started")
	} else if r.ctx.Err() == nil {
		r.recordEvent(p.latest(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+errorMessage(startErr))
	}
	return startErr
}

// recordStart records the result of StartContainer. status is valid if statusErr is nil.
func (p *pod) recordStart(c *run, err error, status *cri.ContainerStatus, statusErr error) error {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	if statusErr == nil {
		c.info = r.containerInfo(c.name, status)
		if status.GetStartedAt() > 0 {
			c.startedAt = timeFromNanos(status.GetStartedAt())
		}
	}
	switch {
	case c.state == stateExited:
		return err
	case err == nil || statusErr == nil && status.GetState() == cri.ContainerState_CONTAINER_RUNNING:
		return nil
	case statusErr != nil || isOutcomeUnknown(err) && status.GetState() == cri.ContainerState_CONTAINER_CREATED:
		c.started, c.outcomeUnknown = false, true
		r.untrack(c.id)
		return &WaitingError{Reason: "RunContainerError", Message: errorMessage(err)}
	}
	if isOutcomeUnknown(err) { // the runtime received the call before it became unavailable: the status decides
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

// discard removes a created container that is not to be started.
func (p *pod) discard(c *run) {
	r := p.runner
	if err := r.opts.Service.RemoveContainer(r.ctx, c.id); err != nil {
		r.opts.Log.Error(err, "Failed to remove container that was not started", "pod", podKey(p.latest()), "container", c.id)
	}
}

// findContainer returns the pod's container with that name, or nil.
func findContainer(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	if c := findEphemeral(pod, name); c != nil {
		return (*corev1.Container)(&c.EphemeralContainerCommon)
	}
	return nil
}

// findEphemeral returns the pod's ephemeral container with that name, or nil.
func findEphemeral(pod *corev1.Pod, name string) *corev1.EphemeralContainer {
	for i := range pod.Spec.EphemeralContainers {
		if c := &pod.Spec.EphemeralContainers[i]; c.Name == name {
			return c
		}
	}
	return nil
}
