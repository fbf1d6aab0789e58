package pods

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/engine/podlife"
)

// pod is what is known of one that runs here. Locks: a pod's before the Runner's.
type pod struct {
	runner *Runner
	// ctx ends when the pod is to go: nothing of it is started any more.
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // for the worker, and for who clears the pod away
	idle   sync.WaitGroup

	mu       sync.Mutex
	object   *corev1.Pod     // its newest version
	runs     map[string]*run // the newest of each container
	queue    []*run          // to be started, in order
	working  bool            // a worker is at the queue
	box      box
	prepared bool // volumes, cgroup and directories are there
	probes   map[string]podlife.Probes
	kills    int64 // by the kernel for want of memory, that the pod's cgroup has counted
	leaving  leaving
}

// state is how far a run is.
type state uint8

const (
	queued state = iota // waits for its turn, or for the next try
	trying              // the worker is at it
	up
	ended
)

// run is one start of a container, or the taking up of one that was started before.
type run struct {
	pod     *pod
	name    string
	attempt uint32
	resumed bool // it ran before the agent started

	// Guarded by the pod's lock.
	state    state
	settled  chan struct{} // closed when it is up or has ended
	id       string        // of the container, once there is one
	info     *runtime.ContainerInfo
	due      time.Time // of the next try
	failures int
	cancel   context.CancelFunc // of the try under way
	launched bool               // the runtime has started it
	unsure   bool               // a call failed of which it is not known what it did; only the worker changes it
	stopping bool
	killing  bool
	began    time.Time
	grace    time.Duration // when it is killed after it was asked to stop; 0: not before podlife says so
}

// mayRun says that the runtime may have the container running, of which the worker does not yet know: that is
// looked up before anything is said of its end. The pod's lock is held.
func (c *run) mayRun() bool { return c.resumed || c.unsure }

func newPod(r *Runner, object *corev1.Pod) *pod {
	p := &pod{runner: r, object: object, runs: map[string]*run{}, wake: make(chan struct{}, 1), probes: map[string]podlife.Probes{}}
	p.ctx, p.cancel = context.WithCancel(r.ctx)
	return p
}

// seen is the pod's newest version.
func (p *pod) seen() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// enqueue has a container started, after those of the pod that come before it.
func (p *pod) enqueue(c *run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.runs[c.name]; old != nil && old.state != ended {
		return // podlife never starts one that runs
	}
	c.pod, c.settled = p, make(chan struct{})
	p.runs[c.name] = c
	if p.ctx.Err() != nil {
		p.never(c)
		return
	}
	p.queue = append(p.queue, c)
	if !p.working {
		p.working = true
		p.idle.Add(1)
		if !p.runner.spawn(func() { defer p.idle.Done(); p.serve() }) {
			p.idle.Done()
		}
	}
	p.nudge()
}

func (p *pod) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// serve starts what is in the queue, and ends when it is empty.
func (p *pod) serve() {
	for {
		c, wait := p.next()
		switch {
		case c != nil:
			p.try(c)
		case wait == 0:
			return
		default:
			pause(p.ctx, wait, p.wake)
		}
	}
}

// pause waits; ctx or wake may end it early.
func pause(ctx context.Context, wait time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// next is the first run whose turn has come; without one, how long to wait: 0 says that the worker is done.
func (p *pod) next() (*run, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		for _, c := range p.queue {
			p.never(c)
		}
		p.queue = nil
	}
	now := time.Now()
	var wait time.Duration
	for _, c := range p.queue {
		if left := c.due.Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		c.state = trying
		return c, 0
	}
	p.working = wait > 0
	return nil, wait
}

// settle takes in what came of a try.
func (p *pod) settle(c *run, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	over := err == nil
	switch {
	case c.state == ended:
		over = true
	case err == nil:
		c.state = up
		close(c.settled)
		p.tell(podlife.Started{Container: c.name, At: c.began}, c)
		p.aim(c, p.probes[c.name])
		if c.stopping {
			p.halt(c)
		}
	case c.launched: // stopped while its postStart hook ran, or since that failed
		over, c.state = true, up
		close(c.settled)
		if !c.stopping {
			c.grace = graceOf(p.object)
		}
		p.halt(c)
	case c.stopping && !c.mayRun() || p.ctx.Err() != nil:
		over = true
		p.never(c)
	default:
		c.state = queued
		c.failures++
		wait := p.refuse(c, err)
		if c.stopping { // somebody waits for its end
			wait = min(wait, p.runner.pause)
		}
		c.due = time.Now().Add(wait)
	}
	if over {
		p.queue = slices.DeleteFunc(p.queue, func(o *run) bool { return o == c })
	}
}

// never ends a run of which no process ever ran, or none that can be found. p.mu is held.
func (p *pod) never(c *run) {
	if p.runner.ctx.Err() != nil && (!c.stopping || c.mayRun()) {
		return // the agent ends, not the pod: the next one goes on
	}
	p.finish(c, podlife.Exited{Container: c.name, Code: killed, Reason: "ContainerStatusUnknown",
		Message: "The container could not be located when the pod was terminated"})
}

// finish reports the end of a run, once. p.mu is held.
func (p *pod) finish(c *run, e podlife.Exited) {
	if c.state == ended {
		return
	}
	if c.state != up {
		close(c.settled)
	}
	c.state = ended
	if c.cancel != nil {
		c.cancel()
	}
	p.runner.untrack(c.id)
	p.tell(e, c)
}

// tell reports an event with what is known of the pod and the container. p.mu is held, so that reports keep their order.
func (p *pod) tell(e podlife.Event, c *run) {
	r := runtime.Report{Pod: p.object.UID, Event: e, Addresses: p.box.addresses}
	if c != nil {
		r.Container = c.info
	}
	p.runner.report(r)
}
