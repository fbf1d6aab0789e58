package pods

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// relistInterval is the interval at which all containers are listed, because events may be lost, and
// at which logs are checked. relistIntervalWithoutEvents replaces it if the runtime sends no events.
const (
	relistInterval              = 10 * time.Second
	relistIntervalWithoutEvents = time.Second
)

// watchContainers detects exited containers and rotates logs until ctx ends.
func (r *Runner) watchContainers(ctx context.Context) {
	broken := make(chan struct{}, 1)
	broken <- struct{}{} // until the stream is established
	r.startWorker(func() { r.watchEvents(ctx, broken) })
	wait := relistIntervalWithoutEvents
	var lastRotation time.Time
	for ctx.Err() == nil {
		r.relist(ctx)
		if now := time.Now(); now.Sub(lastRotation) >= relistInterval {
			lastRotation = now
			r.rotateLogs(ctx)
		}
		timer := time.NewTimer(wait)
		select {
		case <-broken:
			wait = relistIntervalWithoutEvents
		case <-timer.C:
			if len(broken) == 0 {
				wait = relistInterval
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// watchEvents reads events. It signals broken after each end of the stream, because events may
// have been lost.
func (r *Runner) watchEvents(ctx context.Context, broken chan<- struct{}) {
	for ctx.Err() == nil {
		err := r.opts.Service.Events(ctx, r.handleEvent)
		if ctx.Err() != nil {
			return
		}
		r.opts.Log.V(1).Info("Runtime sends no events, polling containers instead", "err", err)
		select {
		case broken <- struct{}{}:
		default:
		}
		sleep(ctx, relistIntervalWithoutEvents/2, nil)
	}
}

// handleEvent handles an event of the runtime. It ignores unknown containers.
func (r *Runner) handleEvent(e runtime.ContainerEvent) {
	c, owner := r.findTracked(e.Container)
	switch {
	case c != nil && e.OOM:
		r.recordOOMKill(c)
	case c != nil || owner != nil:
		r.startWorker(func() { r.inspect(e.Container) })
	}
}

// relist inspects containers and sandboxes that are tracked as running but not listed as running.
func (r *Runner) relist(ctx context.Context) {
	r.mu.Lock()
	ids := make(map[string]bool, len(r.runs)+len(r.sandboxes))
	for id := range r.runs {
		ids[id] = true
	}
	for id := range r.sandboxes {
		ids[id] = true
	}
	r.mu.Unlock()
	if len(ids) == 0 {
		return
	}
	selector := map[string]string{nodeLabel: r.opts.NodeName}
	containers, err := r.opts.Service.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: selector, State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
	if err != nil {
		return // the runtime is unavailable
	}
	sandboxes, err := r.opts.Service.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: selector, State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY}})
	if err != nil {
		return
	}
	for _, c := range containers {
		delete(ids, c.GetId())
	}
	for _, s := range sandboxes {
		delete(ids, s.GetId())
	}
	for id := range ids {
		r.inspect(id)
	}
}

// exitEvent converts the status of an exited container. p.mu must be held.
func (p *pod) exitEvent(c *run, status *cri.ContainerStatus) podlifecycle.Exited {
	e := podlifecycle.Exited{Container: c.name, Code: status.GetExitCode(), Reason: status.GetReason(), Message: status.GetMessage(),
		StartedAt: timeFromNanos(status.GetStartedAt()), FinishedAt: timeFromNanos(status.GetFinishedAt())}
	if status.GetState() == cri.ContainerState_CONTAINER_UNKNOWN {
		e.Code, e.Reason = 255, "Unknown"
		return e
	}
	oomKilled := e.Code == exitCodeKilled && p.runner.wasOOMKilled(p, status.GetId())
	switch {
	case oomKilled:
		e.Reason = "OOMKilled"
	case e.Reason == "OOMKilled", e.Reason == "Completed", e.Reason == "Error":
		e.Reason = "" // derived from the exit code
	}
	if text := p.terminationMessage(c, e.Code); text != "" {
		e.Message = text
	}
	return e
}
