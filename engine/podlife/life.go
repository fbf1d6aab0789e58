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
)

// Life is one pod's life. Make it with New.
type Life struct {
	spec        Spec
	runs        []run // init containers, then containers
	phase       Phase
	initialized bool // all init containers have done their part once
	deleting    bool
	failure     *Failure
	abrupt      bool      // a failure that kills at once
	deadline    time.Time // when stopping ends in a kill
	over        bool      // and said so
	gone        bool
}

// Ended says that the pod has succeeded or failed.
func (l *Life) Ended() bool { return l.ended() }

// Failure is why a pod was made to fail.
type Failure struct{ Reason, Message string }

type run struct {
	Container
	init            bool
	state           State
	reason, message string // why it does not start
	started         time.Time
	launched, ready bool   // by its startup and readiness probes
	probing         Probes // those under way
	exit            Exit
	last            *Exit
	restarts        int32
	delay           time.Duration // before the next restart
	hook            hook
	stopped         time.Time // when it was asked to stop
	killed          bool
	replaced        replaced
	by              time.Time // until when, while it is being replaced
}

// New is the life of a pod that has just been admitted.
func New(spec Spec) *Life {
	l := &Life{spec: spec, initialized: len(spec.Init) == 0}
	for _, c := range spec.Init {
		l.runs = append(l.runs, run{Container: c, init: true})
	}
	for _, c := range spec.Containers {
		l.runs = append(l.runs, run{Container: c})
	}
	return l
}

// Step takes in what happened and answers with what to do. wake is when to call
// again if nothing happens before; zero means never.
func (l *Life) Step(now time.Time, events ...Event) (effects []Effect, wake time.Time) {
	if l.spec.Since.IsZero() {
		l.spec.Since = now
	}
	for _, e := range events {
		e.apply(l, now)
	}
	end := l.expire(now)
	switch {
	case l.gone:
		return nil, time.Time{}
	case l.ending():
		effects, wake = l.stopAll(now)
	case l.finished():
		effects, wake = l.finish(now)
	default:
		effects, wake = l.advance(now)
		wake = earlier(wake, end)
	}
	return l.probe(effects), wake
}

// ended says that the pod has its final phase.
func (l *Life) ended() bool { return l.phase == Succeeded || l.phase == Failed }

// ending says that the pod is made to end.
func (l *Life) ending() bool { return l.deleting || l.failure != nil }

// expire fails a pod that has been active for longer than it may be, and says when that will be.
func (l *Life) expire(now time.Time) (end time.Time) {
	if l.spec.Deadline == 0 || l.ending() || l.ended() {
		return time.Time{}
	}
	if end = l.spec.Since.Add(l.spec.Deadline); !now.Before(end) {
		Fail{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline", Grace: l.spec.Patience()}.apply(l, now)
	}
	return end
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

// Failure is why the pod has been made to fail, nil when it has not, or has not yet come to its end.
func (l *Life) Failure() *Failure {
	if l.phase != Failed {
		return nil
	}
	return l.failure
}

// Ending says that the pod is being deleted or made to fail, and is not over.
func (l *Life) Ending() bool { return l.ending() && !l.over }

// Over says that nothing of the pod runs nor will.
func (l *Life) Over() bool { return l.over }

// Initialized says that all init containers have done their part.
func (l *Life) Initialized() bool { return l.initialized }

// Ready says that all containers and sidecars run and are ready. A pod that is being
// deleted is ready until the first of them has ended, or says that it is not.
func (l *Life) Ready() bool {
	if l.phase != Running {
		return false
	}
	for i := range l.runs {
		if r := &l.runs[i]; (!r.init || r.Sidecar) && !r.serves() {
			return false
		}
	}
	return true
}

// Statuses are the containers' states: init containers, then containers.
func (l *Life) Statuses() (init, containers []Status) {
	for i := range l.runs {
		r := &l.runs[i]
		s := Status{Name: r.Name, State: r.state, Started: r.started, Launched: r.state == Up && r.launched, Ready: r.serves(),
			Exit: r.exit, Last: r.last, Restarts: r.restarts}
		switch {
		case r.state == Starting:
			s.Reason, s.Message = r.reason, r.message
		case r.state == Ended && r.delay > 0 && l.restarts(r) && !l.ended() && !l.ending():
			s.BackOff, s.Delay = true, r.delay
		}
		if r.init {
			init = append(init, s)
		} else {
			containers = append(containers, s)
		}
	}
	return init, containers
}

// Up is how many of its containers run.
func (l *Life) Up() (n int) {
	for i := range l.runs {
		if l.runs[i].state == Up {
			n++
		}
	}
	return n
}
