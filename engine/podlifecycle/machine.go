package podlifecycle

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/order"
)

// Restart delays, by the kubelet's defaults: 10 s doubling to 5 min, reset after twice the maximum.
const (
	initialBackoff    = 10 * time.Second
	defaultMaxBackoff = 5 * time.Minute
)

// Machine is the state machine of one pod. Create it with New or Resume.
type Machine struct {
	spec        Spec
	containers  []containerRun // init containers, then containers
	phase       Phase
	initialized bool // all init containers have completed once
	deleting    bool
	failure     *Failure
	killNow     bool      // a failure with KillNow
	deadline    time.Time // end of the grace period
	stopped     bool      // PodStopped was emitted
	removed     bool
}

// Terminal reports whether the pod is Succeeded or Failed.
func (l *Machine) Terminal() bool { return l.terminal() }

// Failure is why a pod failed.
type Failure struct{ Reason, Message string }

type containerRun struct {
	Container
	init                 bool
	state                State
	reason, message      string // why it does not start
	started              time.Time
	startupPassed, ready bool   // results of the startup and readiness probes
	activeProbes         Probes // probes in flight
	exit                 Exit
	last                 *Exit
	restarts             int32
	backoff              time.Duration // before the next restart
	hook                 hook
	stopRequestedAt      time.Time
	killed               bool
	restartCause         restartCause
	replaceDeadline      time.Time // grace deadline while restartCause is set
}

// New returns the machine of a pod that was just admitted.
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

// Step applies the events and returns what to do. wake is when to call again if nothing happens
// before; zero means never.
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
		wake = order.Earliest(wake, end)
	}
	return l.updateProbes(effects), wake
}

// terminal reports whether the pod has its final phase.
func (l *Machine) terminal() bool { return l.phase == Succeeded || l.phase == Failed }

// terminating reports whether the pod is being deleted or failed.
func (l *Machine) terminating() bool { return l.deleting || l.failure != nil }

// checkDeadline fails a pod that exceeds its active deadline, and returns that deadline.
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

// Phase returns the pod's phase.
func (l *Machine) Phase() Phase { return l.phase }

// Failure returns why the pod failed, or nil if it has not failed or is still terminating.
func (l *Machine) Failure() *Failure {
	if l.phase != Failed {
		return nil
	}
	return l.failure
}

// Terminating reports whether the pod is being deleted or failed and something of it may still run.
func (l *Machine) Terminating() bool { return l.terminating() && !l.stopped }

// Stopped reports whether nothing of the pod runs or will run.
func (l *Machine) Stopped() bool { return l.stopped }

// Initialized reports whether all init containers have completed.
func (l *Machine) Initialized() bool { return l.initialized }

// Ready reports whether all containers and sidecars run and are ready. A pod that is being deleted
// stays ready until a container terminates or fails its readiness probe.
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

// Statuses returns the states of the init containers and of the containers.
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

// RunningContainers returns how many containers run.
func (l *Machine) RunningContainers() (n int) {
	for i := range l.containers {
		if l.containers[i].state == ContainerRunning {
			n++
		}
	}
	return n
}
