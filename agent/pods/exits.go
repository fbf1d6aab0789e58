package pods

import (
	"context"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
)

// How often all containers are listed: as the net below the events, or in their place. Logs are
// looked at with the former.
const (
	netInterval = 10 * time.Second
	bareListing = time.Second
)

// follow sees what ends until ctx ends.
func (r *Runner) follow(ctx context.Context) {
	broken := make(chan struct{}, 1)
	broken <- struct{}{} // until the stream flows
	r.spawn(func() { r.listen(ctx, broken) })
	wait := bareListing
	var logs time.Time
	for ctx.Err() == nil {
		r.relist(ctx)
		if now := time.Now(); now.Sub(logs) >= netInterval {
			logs = now
			r.rotateLogs(ctx)
		}
		timer := time.NewTimer(wait)
		select {
		case <-broken:
			wait = bareListing
		case <-timer.C:
			if len(broken) == 0 {
				wait = netInterval
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// listen reads events; each end of the stream is told, since something may have been missed.
func (r *Runner) listen(ctx context.Context, broken chan<- struct{}) {
	for ctx.Err() == nil {
		err := r.opts.Service.Events(ctx, r.happened)
		if ctx.Err() != nil {
			return
		}
		r.opts.Log.V(1).Info("No events from the runtime; containers are listed instead", "why", err)
		select {
		case broken <- struct{}{}:
		default:
		}
		pause(ctx, bareListing/2, nil)
	}
}

// happened takes in an event.
func (r *Runner) happened(e runtime.ContainerEvent) {
	c, box := r.tracked(e.Container)
	switch {
	case c != nil && e.OOM:
		r.witness(c)
	case c != nil || box != nil:
		r.spawn(func() { r.look(e.Container) })
	}
}

// relist looks for what has ended without a word.
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
	ours := map[string]string{nodeLabel: r.opts.NodeName}
	containers, err := r.opts.Service.ListContainers(ctx, &cri.ContainerFilter{LabelSelector: ours, State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}})
	if err != nil {
		return // the runtime is away
	}
	boxes, err := r.opts.Service.ListPodSandbox(ctx, &cri.PodSandboxFilter{LabelSelector: ours, State: &cri.PodSandboxStateValue{State: cri.PodSandboxState_SANDBOX_READY}})
	if err != nil {
		return
	}
	for _, c := range containers {
		delete(ids, c.GetId())
	}
	for _, b := range boxes {
		delete(ids, b.GetId())
	}
	for id := range ids {
		r.look(id)
	}
}

// exited is how a container's end is reported.
func (p *pod) exited(c *run, status *cri.ContainerStatus) podlife.Exited {
	e := podlife.Exited{Container: c.name, Code: status.GetExitCode(), Reason: status.GetReason(), Message: status.GetMessage(),
		Began: at(status.GetStartedAt()), At: at(status.GetFinishedAt())}
	if status.GetState() == cri.ContainerState_CONTAINER_UNKNOWN {
		e.Code, e.Reason = 255, "Unknown"
		return e
	}
	believed := e.Code == killed && p.runner.oomKilled(p, status.GetId())
	switch {
	case believed:
		e.Reason = "OOMKilled"
	case e.Reason == "OOMKilled", e.Reason == "Completed", e.Reason == "Error":
		e.Reason = "" // by its code
	}
	if words := p.lastWords(c, e.Code); words != "" {
		e.Message = words
	}
	return e
}
