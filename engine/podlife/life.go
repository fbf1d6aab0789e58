package podlife

import (
	"slices"
	"time"
)

// Restart delays: the field's defaults of the kubelet (10 s doubling to 5 min,
// forgiven after twice the maximum).
const (
	firstDelay = 10 * time.Second
	maxDelay   = 5 * time.Minute
	forgiven   = 2 * maxDelay
)

// Life is one pod's life. Make it with New.
type Life struct {
	spec     Spec
	runs     []run // init containers, then containers
	phase    Phase
	deleting bool
	deadline time.Time // when stopping ends in a kill
	gone     bool
}

type run struct {
	Container
	init     bool
	state    State
	started  time.Time
	exit     Exit
	last     *Exit
	restarts int32
	delay    time.Duration // before the next restart
	hook     hook
	stopped  time.Time // when it was asked to stop
	killed   bool
}

// New is the life of a pod that has just been admitted.
func New(spec Spec) *Life {
	l := &Life{spec: spec}
	for _, c := range spec.Init {
		l.runs = append(l.runs, run{Container: c, init: true})
	}
	for _, c := range spec.Containers {
		l.runs = append(l.runs, run{Container: c})
	}
	return l
}

// Event is something that happened to the pod.
type Event interface{ apply(l *Life, now time.Time) }

// Started says that a container runs.
type Started struct{ Container string }

// Exited says that a container has ended, by itself or because it was stopped.
type Exited struct {
	Container string
	Code      int32
}

// PreStopped says that a container's preStop hook has ended, well or not.
type PreStopped struct{ Container string }

// Delete asks the pod to end within Grace. A second Delete can only shorten it.
type Delete struct{ Grace time.Duration }

// Effect is something to do for the pod.
type Effect interface{ effect() }

// Start starts a container.
type Start struct{ Container string }

// PreStop runs a container's preStop hook, which may take until Until at most.
type PreStop struct {
	Container string
	Until     time.Time
}

// Stop asks a container to end by itself until Until.
type Stop struct {
	Container string
	Until     time.Time
}

// Kill ends a container at once.
type Kill struct{ Container string }

// Gone says that nothing of the pod is left; it comes once, only after Delete.
type Gone struct{}

func (Start) effect()   {}
func (PreStop) effect() {}
func (Stop) effect()    {}
func (Kill) effect()    {}
func (Gone) effect()    {}

// Step takes in what happened and answers with what to do. wake is when to call
// again if nothing happens before; zero means never.
func (l *Life) Step(now time.Time, events ...Event) (effects []Effect, wake time.Time) {
	for _, e := range events {
		e.apply(l, now)
	}
	switch {
	case l.gone:
		return nil, time.Time{}
	case l.deleting:
		return l.stopAll(now, nil)
	case l.phase == Succeeded || l.phase == Failed:
		return nil, time.Time{}
	}
	return l.advance(now)
}

func (e Started) apply(l *Life, now time.Time) {
	if r := l.run(e.Container); r != nil && r.state == Starting {
		r.state, r.started = Up, now
	}
}

func (e Exited) apply(l *Life, now time.Time) {
	r := l.run(e.Container)
	if r == nil || r.state != Up && r.state != Starting {
		return
	}
	if r.started.IsZero() {
		r.started = now
	}
	r.state = Ended
	r.exit = Exit{Code: e.Code, Started: r.started, Ended: now, DeadlineReached: r.killed}
	r.hook, r.stopped, r.killed = unhooked, time.Time{}, false
}

func (e PreStopped) apply(l *Life, _ time.Time) {
	if r := l.run(e.Container); r != nil && r.hook == hooking {
		r.hook = hooked
	}
}

func (e Delete) apply(l *Life, now time.Time) {
	end := now.Add(e.Grace)
	if !l.deleting || end.Before(l.deadline) {
		l.deadline = end
	}
	l.deleting = true
}

func (l *Life) run(name string) *run {
	i := slices.IndexFunc(l.runs, func(r run) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &l.runs[i]
}

// Phase is where the pod is in its life.
func (l *Life) Phase() Phase { return l.phase }

// Initialized says that all init containers have done their part.
func (l *Life) Initialized() bool {
	for i := range l.runs {
		r := &l.runs[i]
		if r.init && !r.done() {
			return false
		}
	}
	return true
}

// Ready says that all containers and sidecars run; without probes that is all
// that readiness means. A pod that is being deleted is ready until the first of them has ended.
func (l *Life) Ready() bool {
	if l.phase != Running {
		return false
	}
	for i := range l.runs {
		if r := &l.runs[i]; (!r.init || r.Sidecar) && r.state != Up {
			return false
		}
	}
	return true
}

// Statuses are the containers' states: init containers, then containers.
func (l *Life) Statuses() (init, containers []Status) {
	for i := range l.runs {
		r := &l.runs[i]
		s := Status{Name: r.Name, State: r.state, Started: r.started, Exit: r.exit, Last: r.last, Restarts: r.restarts}
		if r.state == Ended && l.restarts(r) && l.phase != Succeeded && l.phase != Failed && !l.deleting {
			s.BackOff = true
		}
		if r.init {
			init = append(init, s)
		} else {
			containers = append(containers, s)
		}
	}
	return init, containers
}
