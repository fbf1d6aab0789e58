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
func (m *Machine) Terminal() bool { return m.isTerminal() }

// Failure is why a pod failed.
type Failure struct{ Reason, Message string }

type containerRun struct {
	Container
	init, ephemeral      bool
	state                State
	reason, message      string // why the container does not start
	started              time.Time
	startupPassed, ready bool   // results of the startup and readiness probes
	activeProbes         Probes // probes that StartProbe started and StopProbe has not stopped
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
	m := &Machine{spec: spec, initialized: len(spec.Init) == 0}
	for _, c := range spec.Init {
		m.containers = append(m.containers, containerRun{Container: c, init: true})
	}
	for _, c := range spec.Containers {
		m.containers = append(m.containers, containerRun{Container: c})
	}
	for _, c := range spec.Ephemeral {
		AddEphemeral{c}.apply(m, time.Time{})
	}
	return m
}

// Step applies the events and returns the effects. wake is the latest time of the next call; zero
// means that only an event requires one.
func (m *Machine) Step(now time.Time, events ...Event) (effects []Effect, wake time.Time) {
	if m.spec.StartTime.IsZero() {
		m.spec.StartTime = now
	}
	for _, e := range events {
		e.apply(m, now)
	}
	end := m.checkDeadline(now)
	switch {
	case m.removed:
		return nil, time.Time{}
	case m.isTerminating():
		effects, wake = m.stopAll(now)
	case m.allTerminated():
		effects, wake = m.stopSidecars(now)
	default:
		effects, wake = m.advance(now)
		wake = order.Earliest(wake, end)
	}
	return m.updateProbes(effects), wake
}

// isTerminal reports whether the pod has its final phase.
func (m *Machine) isTerminal() bool { return m.phase == Succeeded || m.phase == Failed }

// isTerminating reports whether the pod is being deleted or failed.
func (m *Machine) isTerminating() bool { return m.deleting || m.failure != nil }

// checkDeadline fails a pod that exceeds its active deadline, and returns that deadline.
func (m *Machine) checkDeadline(now time.Time) (end time.Time) {
	if m.spec.Deadline == 0 || m.isTerminating() || m.isTerminal() {
		return time.Time{}
	}
	if end = m.spec.StartTime.Add(m.spec.Deadline); !now.Before(end) {
		Fail{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline", Grace: m.spec.GracePeriod()}.apply(m, now)
	}
	return end
}

func (m *Machine) container(name string) *containerRun {
	i := slices.IndexFunc(m.containers, func(r containerRun) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &m.containers[i]
}

// Phase returns the pod's phase.
func (m *Machine) Phase() Phase { return m.phase }

// Failure returns why the pod failed, or nil if it has not failed or is still terminating.
func (m *Machine) Failure() *Failure {
	if m.phase != Failed {
		return nil
	}
	return m.failure
}

// Terminating reports whether the pod is being deleted or failed and a container may still run.
func (m *Machine) Terminating() bool { return m.isTerminating() && !m.stopped }

// Stopped reports whether no container of the pod runs or will run.
func (m *Machine) Stopped() bool { return m.stopped }

// Initialized reports whether all init containers have completed.
func (m *Machine) Initialized() bool { return m.initialized }

// Ready reports whether all containers and sidecars run and are ready. A pod that is being deleted
// stays ready until a container terminates or fails its readiness probe.
func (m *Machine) Ready() bool {
	if m.phase != Running {
		return false
	}
	for i := range m.containers {
		if r := &m.containers[i]; (r.main() || r.Sidecar) && !r.isReady() {
			return false
		}
	}
	return true
}

// Statuses returns the states of the init containers and of the containers.
func (m *Machine) Statuses() (init, containers []Status) {
	return m.statuses((*containerRun).isInit), m.statuses((*containerRun).main)
}

// EphemeralStatuses returns the states of the ephemeral containers.
func (m *Machine) EphemeralStatuses() []Status { return m.statuses((*containerRun).isEphemeral) }

// main reports whether the container is neither an init nor an ephemeral container.
func (r *containerRun) main() bool { return !r.init && !r.ephemeral }

func (r *containerRun) isInit() bool { return r.init }

func (r *containerRun) isEphemeral() bool { return r.ephemeral }

func (m *Machine) statuses(include func(*containerRun) bool) (out []Status) {
	for i := range m.containers {
		r := &m.containers[i]
		if !include(r) {
			continue
		}
		s := Status{Name: r.Name, State: r.state, StartedAt: r.started, StartupPassed: r.state == ContainerRunning && r.startupPassed,
			Ready: r.isReady() && (r.main() || r.Sidecar),
			Exit:  r.exit, Last: r.last, Restarts: r.restarts}
		switch {
		case r.state == ContainerStarting:
			s.Reason, s.Message = r.reason, r.message
		case r.state == ContainerTerminated && r.backoff > 0 && m.shouldRestart(r) && !m.isTerminal() && !m.isTerminating():
			s.BackOff, s.BackOffDelay = true, r.backoff
		}
		out = append(out, s)
	}
	return out
}

// RunningContainers returns the number of running containers.
func (m *Machine) RunningContainers() (n int) {
	for i := range m.containers {
		if m.containers[i].state == ContainerRunning {
			n++
		}
	}
	return n
}
