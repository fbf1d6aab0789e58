package pods

import (
	"context"
	"path"
	"slices"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// maxGraceSeconds is the grace period passed to the runtime. The pod lifecycle machine decides
// when the grace period of the pod is over and then calls Kill.
const maxGraceSeconds = 24 * 3600

// stop stops the run of a container: immediately with kill, otherwise gracefully.
func (p *pod) stop(name string, kill bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.runs[name]
	if c == nil || c.state == stateExited || c.stopping && (!kill || c.killing) {
		return
	}
	c.stopping, c.killing = true, kill
	switch c.state {
	case stateQueued:
		p.queue = slices.DeleteFunc(p.queue, func(other *run) bool { return other == c })
		if c.mayBeRunning() {
			c.retryAt = time.Time{}
			p.queue = append(p.queue, c)
			p.wakeWorker()
			return
		}
		p.finishNotFound(c)
		p.wakeWorker()
	case stateStarting:
		if c.cancel != nil && !c.mayBeRunning() {
			c.cancel()
		}
	case stateRunning:
		p.stopAsync(c)
	}
}

// stopAsync stops a running container in the background. p.mu must be held.
func (p *pod) stopAsync(c *run) {
	c.stopping = true
	kill, grace := c.killing, c.grace
	if grace == 0 {
		grace = maxGraceSeconds * time.Second
	}
	p.runner.startWorker(func() {
		if !kill {
			p.awaitEndpoints()
		}
		p.stopUntilExited(c, kill, grace)
	})
}

// awaitEndpoints blocks until Services send no new connections to a pod that is being deleted.
// Otherwise a container that closes its listener on SIGTERM would refuse some.
func (p *pod) awaitEndpoints() {
	o := &p.runner.opts
	pod := p.latest()
	if o.AwaitEndpoints == nil || pod.DeletionTimestamp == nil || pod.Spec.HostNetwork {
		return
	}
	p.mu.Lock()
	addresses := slices.Clone(p.sandbox.addresses)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.ctx, min(o.EndpointTimeout, gracePeriod(pod)/2))
	defer cancel()
	o.AwaitEndpoints(ctx, addresses)
}

// stopUntilExited stops a container and retries until it has exited, since the runtime may be
// unavailable.
func (p *pod) stopUntilExited(c *run, kill bool, grace time.Duration) {
	r := p.runner
	if kill && r.opts.Cgroups != nil {
		// The kernel is faster than the runtime.
		if err := r.opts.Cgroups.Kill(path.Join(Cgroup(r.opts.CgroupRoot, p.latest()), c.id)); err != nil {
			r.opts.Log.Error(err, "Failed to kill container cgroup, stopping the container through the runtime", "pod", podKey(p.latest()), "container", c.id)
		}
	}
	if kill {
		grace = 0
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, initialRetryDelay) {
		err := r.opts.Service.StopContainer(r.ctx, c.id, grace)
		if err == nil || isNotFound(err) {
			r.inspect(c.id)
		}
		p.mu.Lock()
		done := c.state == stateExited || !kill && c.killing // a kill has taken over
		p.mu.Unlock()
		if done || r.ctx.Err() != nil {
			return
		}
		if err != nil {
			r.opts.Log.V(1).Info("Failed to stop container; retrying", "pod", podKey(p.latest()), "container", c.id, "err", err.Error())
		}
		sleep(r.ctx, wait, nil)
	}
}

// inspect reports the exit of a tracked container, or the loss of a tracked sandbox.
func (r *Runner) inspect(id string) {
	c, owner := r.findTracked(id)
	switch {
	case c != nil:
		status, err := r.opts.Service.ContainerStatus(r.ctx, id)
		switch {
		case isNotFound(err):
			c.pod.finishLost(c)
		case err != nil:
			r.opts.Log.V(1).Info("Failed to read container status", "container", id, "err", err.Error())
		case status.GetState() == cri.ContainerState_CONTAINER_EXITED || status.GetState() == cri.ContainerState_CONTAINER_UNKNOWN:
			c.pod.mu.Lock()
			defer c.pod.mu.Unlock()
			if c.state == stateExited || !c.started {
				return // already reported, or not recorded as started
			}
			c.info = r.containerInfo(c.name, status)
			c.pod.finish(c, c.pod.exitEvent(c, status))
		}
	case owner != nil:
		// A teardown reports right after its kill, and the runtime's status lags behind its event.
		sleep(r.ctx, sandboxDownDelay, nil)
		status, err := r.opts.Service.PodSandboxStatus(r.ctx, id)
		if isNotFound(err) || err == nil && status.GetState() != cri.PodSandboxState_SANDBOX_READY {
			owner.handleSandboxLost(id)
		}
	}
}
