package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
)

// Exit codes of the field.
const (
	killed  = 137 // 128 + SIGKILL
	unstart = 128 // could not be started
)

// Pauses between tries of what fails.
const (
	firstPause = time.Second
	maxPause   = 10 * time.Second
)

// Wait is why a container does not start yet, as its state says it.
type Wait struct {
	Reason, Message string
	// Again is when it makes sense to try again; zero leaves that to the Runner.
	Again time.Time
}

func (w *Wait) Error() string { return w.Message }

// try takes a run one step on: to a container that runs, or to the reason why not.
func (p *pod) try(c *run) {
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	p.mu.Lock()
	c.cancel = cancel
	stop := c.stopping && !c.mayRun()
	p.mu.Unlock()
	if stop {
		cancel()
	}
	p.settle(c, p.begin(ctx, c))
}

// refuse reports why a try failed, and says how long to wait before the next. p.mu is held.
func (p *pod) refuse(c *run, err error) time.Duration {
	wait := min(p.runner.pause<<min(c.failures-1, 8), maxPause)
	var w *Wait
	if !errors.As(err, &w) {
		w = &Wait{Reason: "ContainerCreating", Message: err.Error()}
	}
	if !w.Again.IsZero() {
		wait = max(time.Until(w.Again), 10*time.Millisecond)
	}
	p.runner.opts.Log.V(1).Info("Container does not start yet", "pod", key(p.object), "container", c.name, "reason", w.Reason, "why", err.Error(), "again", wait)
	p.tell(podlife.Waiting{Container: c.name, Reason: w.Reason, Message: w.Message}, c)
	return wait
}

// begin does what is left to do until the container runs and its postStart hook has ended. It may be
// called again after an error. ctx ends when the container is not to start any more;
// calls that change something in the runtime are not broken off for that.
func (p *pod) begin(ctx context.Context, c *run) error {
	if done, err := p.pickUp(ctx, c); done || err != nil {
		return err
	}
	spec := find(p.seen(), c.name)
	if spec == nil {
		return &Wait{Reason: "CreateContainerConfigError", Message: fmt.Sprintf("pod has no container %q", c.name)}
	}
	if err := p.prepare(ctx); err != nil {
		return err
	}
	b, err := p.sandbox(ctx)
	if err != nil {
		return err
	}
	ref, err := p.runner.opts.Images.Ensure(ctx, p.seen(), spec, b.config)
	if err != nil {
		return err
	}
	config, err := p.config(ctx, c, spec, ref)
	if err != nil {
		return &Wait{Reason: "CreateContainerConfigError", Message: err.Error()}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.create(c, b, config); err != nil {
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

// create makes the container.
func (p *pod) create(c *run, b *box, config *cri.ContainerConfig) error {
	r := p.runner
	id, err := r.opts.Service.CreateContainer(r.ctx, b.id, config, b.config)
	if err != nil {
		r.event(p.seen(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
		p.mu.Lock()
		c.unsure = true
		p.mu.Unlock()
		return notCreated(err)
	}
	info := &runtime.ContainerInfo{Name: c.name, ID: r.containerID(id), Image: config.Image.GetImage()}
	p.mu.Lock()
	c.id, c.info = id, info
	pod := p.object
	p.mu.Unlock()
	r.event(pod, c.name, corev1.EventTypeNormal, "Created", "Container created")
	return nil
}

// launch starts the container that was created. When it cannot be started, that is its end.
func (p *pod) launch(c *run) error {
	r := p.runner
	p.mu.Lock()
	c.launched, c.began = true, time.Now() // from now on its end may be seen
	p.mu.Unlock()
	r.track(c)
	err := r.opts.Service.StartContainer(r.ctx, c.id)
	status, unseen := r.opts.Service.ContainerStatus(r.ctx, c.id)
	told := p.launched(c, err, status, unseen)
	if told == nil {
		r.event(p.seen(), c.name, corev1.EventTypeNormal, "Started", "Container started")
	} else if r.ctx.Err() == nil {
		r.event(p.seen(), c.name, corev1.EventTypeWarning, "Failed", "Error: "+message(told))
	}
	return told
}

// launched takes in what came of starting a container: err, and its status unless that is unseen.
func (p *pod) launched(c *run, err error, status *cri.ContainerStatus, unseen error) error {
	r := p.runner
	p.mu.Lock()
	defer p.mu.Unlock()
	if unseen == nil {
		c.info = r.info(c.name, status)
		if status.GetStartedAt() > 0 {
			c.began = at(status.GetStartedAt())
		}
	}
	switch {
	case c.state == ended:
		return err
	case err == nil || unseen == nil && status.GetState() == cri.ContainerState_CONTAINER_RUNNING:
		return nil
	case unseen != nil || away(err) && status.GetState() == cri.ContainerState_CONTAINER_CREATED:
		c.launched, c.unsure = false, true
		r.untrack(c.id)
		return &Wait{Reason: "RunContainerError", Message: message(err)}
	}
	if away(err) { // it was heard before the runtime went away: what came of it counts
		p.finish(c, p.exited(c, status))
		return err
	}
	e := podlife.Exited{Container: c.name, Code: unstart, Reason: "StartError", Message: message(err)}
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
		r.opts.Log.Error(err, "A container that was not started cannot be removed", "pod", key(p.seen()), "container", c.id)
	}
}

// find is a container of a pod by name.
func find(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
