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

// pod is what is known of one that runs here. Locks: a pod's before the Runner's.
type pod struct {
	runner *Runner
	// ctx ends when the pod is to go: nothing of it is started any more.
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // for the worker, and for who clears the pod away
	workers sync.WaitGroup

	mu       sync.Mutex
	object   *corev1.Pod     // its newest version
	runs     map[string]*run // the newest of each container
	queue    []*run          // to be started, in order
	working  bool            // a worker is at the queue
	sandbox  podSandbox
	prepared bool // volumes, cgroup and directories are there
	probes   map[string]podlifecycle.Probes
	oomKills int64 // by the kernel for want of memory, that the pod's cgroup has counted
	teardown teardown
}

// runState is how far a run is.
type runState uint8

const (
	stateQueued   runState = iota // waits for its turn, or for the next try
	stateStarting                 // the worker is at it
	stateRunning
	stateExited
)

// run is one start of a container, or the taking up of one that was started before.
type run struct {
	pod     *pod
	name    string
	attempt uint32
	resumed bool // it ran before the agent started

	// Guarded by the pod's lock.
	state          runState
	startDone      chan struct{} // closed when it is up or has ended
	id             string        // of the container, once there is one
	info           *runtime.ContainerInfo
	retryAt        time.Time // of the next try
	failures       int
	cancel         context.CancelFunc // of the try under way
	started        bool               // the runtime has started it
	outcomeUnknown bool               // a call failed of which it is not known what it did; only the worker changes it
	stopping       bool
	killing        bool
	startedAt      time.Time
	grace          time.Duration // when it is killed after it was asked to stop; 0: not before podlife says so
}

// mayBeRunning says that the runtime may have the container running, of which the worker does not yet know: that is
// looked up before anything is said of its end. The pod's lock is held.
func (c *run) mayBeRunning() bool { return c.resumed || c.outcomeUnknown }

func newPod(r *Runner, object *corev1.Pod) *pod {
	p := &pod{runner: r, object: object, runs: map[string]*run{}, wake: make(chan struct{}, 1), probes: map[string]podlifecycle.Probes{}}
	p.ctx, p.cancel = context.WithCancel(r.ctx)
	return p
}

// latest is the pod's newest version.
func (p *pod) latest() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// enqueue has a container started, after those of the pod that come before it.
func (p *pod) enqueue(c *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.runs[c.name]; old != nil && old.state != stateExited {
		return // podlife never starts one that runs
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

// runWorker starts what is in the queue, and ends when it is empty.
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

// sleep waits; ctx or wake may end it early.
func sleep(ctx context.Context, wait time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// nextRun is the first run whose turn has come; without one, how long to wait: 0 says that the worker is done.
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
		if left := c.retryAt.Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		c.state = stateStarting
		return c, 0
	}
	p.working = wait > 0
	return nil, wait
}

// completeStart takes in what came of a try.
func (p *pod) completeStart(c *run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	over := err == nil
	switch {
	case c.state == stateExited:
		over = true
	case err == nil:
		c.state = stateRunning
		close(c.startDone)
		p.report(podlifecycle.Started{Container: c.name, At: c.startedAt}, c)
		p.startProbes(c, p.probes[c.name])
		if c.stopping {
			p.stopAsync(c)
		}
	case c.started: // stopped while its postStart hook ran, or since that failed
		over, c.state = true, stateRunning
		close(c.startDone)
		if !c.stopping {
			c.grace = gracePeriod(p.object)
		}
		p.stopAsync(c)
	case c.stopping && !c.mayBeRunning() || p.ctx.Err() != nil:
		over = true
		p.finishNotFound(c)
	default:
		c.state = stateQueued
		c.failures++
		wait := p.reportWaiting(c, err)
		if c.stopping { // somebody waits for its end
			wait = min(wait, p.runner.retryDelay)
		}
		c.retryAt = time.Now().Add(wait)
	}
	if over {
		p.queue = slices.DeleteFunc(p.queue, func(o *run) bool { return o == c })
	}
}

// finishNotFound ends a run of which no process ever ran, or none that can be found. p.mu is held.
func (p *pod) finishNotFound(c *run) {
	if p.runner.ctx.Err() != nil && (!c.stopping || c.mayBeRunning()) {
		return // the agent ends, not the pod: the next one goes on
	}
	p.finish(c, podlifecycle.Exited{Container: c.name, Code: exitCodeKilled, Reason: "ContainerStatusUnknown",
		Message: "The container could not be located when the pod was terminated"})
}

// finish reports the end of a run, once. p.mu is held.
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

// report reports an event with what is known of the pod and the container. p.mu is held, so that reports keep their order.
func (p *pod) report(e podlifecycle.Event, c *run) {
	r := runtime.Report{Pod: p.object.UID, Event: e, Addresses: p.sandbox.addresses}
	if c != nil {
		r.Container = c.info
	}
	p.runner.report(r)
}
