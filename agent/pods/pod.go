package pods

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlifecycle"
)

// pod is the state of one pod. Lock order: pod.mu before Runner.mu.
type pod struct {
	runner *Runner
	// ctx ends when the pod's teardown begins: no more containers start.
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // wakes the worker or the teardown
	workers sync.WaitGroup

	mu       sync.Mutex
	object   *corev1.Pod     // latest version
	runs     map[string]*run // latest run of each container
	queue    []*run          // runs to start, in order
	working  bool            // a worker processes the queue
	sandbox  podSandbox
	prepared bool                           // volumes, cgroup and directories exist
	probes   map[string]podlifecycle.Probes // requested, by container
	oomKills int64                          // OOM kills that the pod's cgroup has counted so far
	teardown teardown
	resize   resize
	// limitsMu is held while cgroup limits are written. Lock it before mu.
	limitsMu sync.Mutex
}

// runState is the progress of a run.
type runState uint8

const (
	stateQueued   runState = iota // waits for its turn or for a retry
	stateStarting                 // the worker is starting it
	stateRunning
	stateExited
)

// run is one start of a container, or the adoption of one that was started before a restart.
type run struct {
	pod     *pod
	name    string
	attempt uint32
	resumed bool // was running before the agent started

	// Guarded by pod.mu.
	state          runState
	startDone      chan struct{} // closed when it is running or has exited
	id             string        // container ID, once created
	info           *runtime.ContainerInfo
	resources      *corev1.ResourceRequirements // that it was created with; nil for an adopted container
	retryAt        time.Time                    // time of the next attempt
	failures       int
	cancel         context.CancelFunc // cancels the current attempt
	started        bool               // StartContainer was called
	outcomeUnknown bool               // the effect of a failed call is unknown; only the worker changes it
	stopping       bool               // the container must exit
	killing        bool               // without a grace period
	startedAt      time.Time
	grace          time.Duration // between SIGTERM and SIGKILL; 0: until the pod lifecycle machine calls Kill
}

// mayBeRunning reports whether the container may be running although the worker has not recorded a
// successful start. Its status must be read before its exit is reported. p.mu must be held.
func (c *run) mayBeRunning() bool { return c.resumed || c.outcomeUnknown }

func newPod(r *Runner, object *corev1.Pod) *pod {
	p := &pod{runner: r, object: object, runs: map[string]*run{}, wake: make(chan struct{}, 1), probes: map[string]podlifecycle.Probes{}}
	p.ctx, p.cancel = context.WithCancel(r.ctx)
	return p
}

// latest returns the newest version of the pod.
func (p *pod) latest() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// enqueue adds a run to the end of the queue, from which the pod's worker starts one container at a time.
func (p *pod) enqueue(c *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if existing := p.runs[c.name]; existing != nil && existing.state != stateExited {
		return // the pod lifecycle machine never starts a running container
	}
	c.pod, c.startDone = p, make(chan struct{})
	p.runs[c.name] = c
	if p.ctx.Err() != nil {
		p.finishNotFound(c)
		return
	}
	p.queue = append(p.queue, c)
	if !p.working {
		p.working = true
		p.workers.Add(1)
		if !p.runner.startWorker(func() { defer p.workers.Done(); p.runWorker() }) {
			p.workers.Done()
		}
	}
	p.wakeWorker()
}

func (p *pod) wakeWorker() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// runWorker processes the queue and returns when it is empty.
func (p *pod) runWorker() {
	for {
		c, wait := p.nextRun()
		switch {
		case c != nil:
			p.attemptStart(c)
		case wait == 0:
			return
		default:
			sleep(p.ctx, wait, p.wake)
		}
	}
}

// sleep blocks for the duration wait, until ctx ends, or until wake has a value.
func sleep(ctx context.Context, wait time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// nextRun returns the first run that is due. If there is none, it returns the time to wait; 0
// means that the worker is done.
func (p *pod) nextRun() (*run, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		for _, c := range p.queue {
			p.finishNotFound(c)
		}
		p.queue = nil
	}
	now := time.Now()
	var wait time.Duration
	for _, c := range p.queue {
		if remaining := c.retryAt.Sub(now); remaining > 0 {
			if wait == 0 || remaining < wait {
				wait = remaining
			}
			continue
		}
		c.state = stateStarting
		return c, 0
	}
	p.working = wait > 0
	return nil, wait
}

// completeStart processes the result of an attempt to start a container.
func (p *pod) completeStart(c *run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := err == nil
	switch {
	case c.state == stateExited:
		done = true
	case err == nil:
		c.state = stateRunning
		close(c.startDone)
		p.recordResources(c)
		p.reportStarted(c)
		p.startProbes(c, p.probes[c.name])
		if c.stopping {
			p.stopAsync(c)
		}
	case c.started: // stopped during its postStart hook, or the hook failed
		done, c.state = true, stateRunning
		close(c.startDone)
		p.recordResources(c)
		if !c.stopping {
			c.grace = gracePeriod(p.object)
		}
		p.stopAsync(c)
	case c.stopping && !c.mayBeRunning() || p.ctx.Err() != nil:
		done = true
		p.finishNotFound(c)
	default:
		c.state = stateQueued
		c.failures++
		wait := p.reportWaiting(c, err)
		if c.stopping { // a caller waits for the exit
			wait = min(wait, p.runner.retryDelay)
		}
		c.retryAt = time.Now().Add(wait)
	}
	if done {
		p.queue = slices.DeleteFunc(p.queue, func(other *run) bool { return other == c })
	}
}

// finishNotFound reports the end of a run that never started or whose process cannot be found.
// p.mu must be held.
func (p *pod) finishNotFound(c *run) {
	if p.runner.ctx.Err() != nil && (!c.stopping || c.mayBeRunning()) {
		return // the agent stops, not the pod: the next agent continues
	}
	p.finish(c, podlifecycle.Exited{Container: c.name, Code: exitCodeKilled, Reason: "ContainerStatusUnknown",
		Message: "The container could not be located when the pod was terminated"})
}

// finish reports the end of a run, once. p.mu must be held.
func (p *pod) finish(c *run, e podlifecycle.Exited) {
	if c.state == stateExited {
		return
	}
	if c.state != stateRunning {
		close(c.startDone)
	}
	c.state = stateExited
	if c.cancel != nil {
		c.cancel()
	}
	p.runner.untrack(c.id)
	p.report(e, c)
}

// reportStarted reports that a run has started, with its resources. p.mu must be held.
func (p *pod) reportStarted(c *run) {
	p.runner.report(runtime.Report{Pod: p.object.UID, Event: podlifecycle.Started{Container: c.name, At: c.startedAt}, Addresses: p.sandbox.addresses,
		Container: c.info, Resources: c.resources})
}

// report reports an event together with the state of the pod and the container. p.mu must be held
// to keep reports in order.
func (p *pod) report(e podlifecycle.Event, c *run) {
	r := runtime.Report{Pod: p.object.UID, Event: e, Addresses: p.sandbox.addresses}
	if c != nil {
		r.Container = c.info
	}
	p.runner.report(r)
}
