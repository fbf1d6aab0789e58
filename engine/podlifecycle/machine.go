package podlifecycle

import (
	"slices"
	"time"
)

// Restart delays: the field's defaults of the kubelet (10 s doubling to 5 min,
// forgiven after twice the maximum).
const (
	initialBackoff    = 10 * time.Second
	defaultMaxBackoff = 5 * time.Minute
)

// Machine is one pod's life. Make it with New.
type Machine struct {
	spec        Spec
	containers  []containerRun // init containers, then containers
	phase       Phase
	initialized bool // all init containers have done their part once
	deleting    bool
	failure     *Failure
	killNow     bool      // a failure that kills at once
	deadline    time.Time // when stopping ends in a kill
	stopped     bool      // and said so
	removed     bool
}

// Terminal says that the pod has succeeded or failed.
func (l *Machine) Terminal() bool { return l.terminal() }

// Failure is why a pod was made to fail.
type Failure struct{ Reason, Message string }

type containerRun struct {
	Container
	init                 bool
	state                State
	reason, message      string // why it does not start
	started              time.Time
	startupPassed, ready bool   // by its startup and readiness probes
	activeProbes         Probes // those under way
	exit                 Exit
	last                 *Exit
	restarts             int32
	backoff              time.Duration // before the next restart
	hook                 hook
	stopRequestedAt      time.Time // when it was asked to stop
	killed               bool
	restartCause         restartCause
	replaceDeadline      time.Time // until when, while it is being replaced
}

// New is the life of a pod that has just been admitted.
func New(spec Spec) *Machine {
	l := &Machine{spec: spec, initialized: len(spec.Init) == 0}
	for _, c := range spec.Init {
		l.containers = append(l.containers, containerRun{Container: c, init: true})
	}
	for _, c := range spec.Containers {
		l.containers = append(l.containers, containerRun{Container: c})
	}
	return l
}

// Step takes in what happened and answers with what to do. wake is when to call
// again if nothing happens before; zero means never.
func (l *Machine) Step(now time.Time, events ...Event) (effects []Effect, wake time.Time) {
	if l.spec.StartTime.IsZero() {
		l.spec.StartTime = now
	}
	for _, e := range events {
		e.apply(l, now)
	}
	end := l.checkDeadline(now)
	switch {
	case l.removed:
		return nil, time.Time{}
	case l.terminating():
		effects, wake = l.stopAll(now)
	case l.allTerminated():
		effects, wake = l.stopSidecars(now)
	default:
		effects, wake = l.advance(now)
		wake = earliest(wake, end)
	}
	return l.updateProbes(effects), wake
}

// terminal says that the pod has its final phase.
func (l *Machine) terminal() bool { return l.phase == Succeeded || l.phase == Failed }

// terminating says that the pod is made to end.
func (l *Machine) terminating() bool { return l.deleting || l.failure != nil }

// checkDeadline fails a pod that has been active for longer than it may be, and says when that will be.
func (l *Machine) checkDeadline(now time.Time) (end time.Time) {
	if l.spec.Deadline == 0 || l.terminating() || l.terminal() {
		return time.Time{}
	}
	if end = l.spec.StartTime.Add(l.spec.Deadline); !now.Before(end) {
		Fail{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline", Grace: l.spec.GracePeriod()}.apply(l, now)
	}
	return end
}

func (l *Machine) container(name string) *containerRun {
	i := slices.IndexFunc(l.containers, func(r containerRun) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &l.containers[i]
}

// Phase is where the pod is in its life.
func (l *Machine) Phase() Phase { return l.phase }

// Failure is why the pod has been made to fail, nil when it has not, or has not yet come to its end.
func (l *Machine) Failure() *Failure {
	if l.phase != Failed {
		return nil
	}
	return l.failure
}

// Terminating says that the pod is being deleted or made to fail, and is not over.
func (l *Machine) Terminating() bool { return l.terminating() && !l.stopped }

// Stopped says that nothing of the pod runs nor will.
func (l *Machine) Stopped() bool { return l.stopped }

// Initialized says that all init containers have done their part.
func (l *Machine) Initialized() bool { return l.initialized }

// Ready says that all containers and sidecars run and are ready. A pod that is being
// deleted is ready until the first of them has ended, or says that it is not.
func (l *Machine) Ready() bool {
	if l.phase != Running {
		return false
	}
	for i := range l.containers {
		if r := &l.containers[i]; (!r.init || r.Sidecar) && !r.isReady() {
			return false
		}
	}
	return true
}

// Statuses are the containers' states: init containers, then containers.
func (l *Machine) Statuses() (init, containers []Status) {
	for i := range l.containers {
		r := &l.containers[i]
		s := Status{Name: r.Name, State: r.state, StartedAt: r.started, StartupPassed: r.state == ContainerRunning && r.startupPassed, Ready: r.isReady(),
			Exit: r.exit, Last: r.last, Restarts: r.restarts}
		switch {
		case r.state == ContainerStarting:
			s.Reason, s.Message = r.reason, r.message
		case r.state == ContainerTerminated && r.backoff > 0 && l.shouldRestart(r) && !l.terminal() && !l.terminating():
			s.BackOff, s.BackOffDelay = true, r.backoff
		}
		if r.init {
			init = append(init, s)
		} else {
			containers = append(containers, s)
		}
	}
	return init, containers
}

// RunningContainers is how many of its containers run.
func (l *Machine) RunningContainers() (n int) {
	for i := range l.containers {
		if l.containers[i].state == ContainerRunning {
			n++
		}
	}
	return n
}
