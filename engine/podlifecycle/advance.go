package podlifecycle

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/order"
)

// initDone reports whether an init container no longer blocks the next ones.
func (r *containerRun) initDone() bool {
	if r.Sidecar {
		return r.state == ContainerRunning && r.startupPassed
	}
	return r.state == ContainerTerminated && r.exit.Code == 0
}

func (m *Machine) restartPolicy(r *containerRun) RestartPolicy {
	switch {
	case r.Sidecar:
		return Always
	case r.RestartPolicy != nil:
		return *r.RestartPolicy
	}
	return m.spec.RestartPolicy
}

func (m *Machine) shouldRestart(r *containerRun) bool {
	if r.ephemeral {
		return false
	}
	if r.exit.Replaced || r.Sidecar {
		return true
	}
	if r.exit.Code != 0 && slices.ContainsFunc(r.RestartRules, func(rule RestartRule) bool {
		return slices.Contains(rule.Codes, r.exit.Code) != rule.NotIn
	}) {
		return true
	}
	policy := m.restartPolicy(r)
	return policy == Always && !r.init || r.exit.Code != 0 && policy != Never
}

// advance starts the containers that may start now: ephemeral containers, init containers in order, then all
// containers at once.
func (m *Machine) advance(now time.Time) (effects []Effect, wake time.Time) {
	for i := range m.containers {
		if r := &m.containers[i]; r.ephemeral && r.state == ContainerNotStarted {
			effects = append(effects, r.start())
		}
	}
	blocked := false // an unfinished init container blocks the following containers
	for i := range m.containers {
		r := &m.containers[i]
		if r.ephemeral {
			continue
		}
		if !r.init && !m.initialized {
			if blocked {
				break
			}
			m.initialized = true
		}
		if r.init && (blocked || !r.Sidecar && (m.initialized || r.initDone())) {
			continue
		}
		effect, at := m.advanceContainer(r, now)
		if effect != nil {
			effects = append(effects, effect)
		}
		wake = order.Earliest(wake, at)
		blocked = r.init && !m.initialized && !r.initDone()
	}
	if m.phase == Pending && m.allStarted() {
		m.phase = Running
	}
	return effects, wake
}

// advanceContainer takes the next step for a container that is not blocked.
func (m *Machine) advanceContainer(r *containerRun, now time.Time) (effect Effect, wake time.Time) {
	switch {
	case r.state == ContainerNotStarted:
		return r.start(), time.Time{}
	case r.state == ContainerTerminated && m.shouldRestart(r):
		if at := m.restartAt(r); at.After(now) {
			return nil, at
		}
		return m.restart(r), time.Time{}
	case r.active() && r.restartCause != noRestart:
		return r.stop(now, r.replaceDeadline, true)
	}
	return nil, time.Time{}
}

// allStarted reports whether each regular container has run at least once.
func (m *Machine) allStarted() bool {
	for i := range m.containers {
		if r := &m.containers[i]; r.main() && r.state != ContainerRunning && r.state != ContainerTerminated && r.restarts == 0 {
			return false
		}
	}
	return m.initialized && len(m.spec.Containers) > 0
}

func (r *containerRun) start() Effect {
	r.state, r.started, r.reason, r.message = ContainerStarting, time.Time{}, "", ""
	return Start{r.Name, r.restarts}
}

// restartAt returns when a terminated container may restart.
func (m *Machine) restartAt(r *containerRun) time.Time {
	if r.exit.FinishedAt.Sub(r.exit.StartedAt) >= 2*m.maxBackoff() {
		return r.exit.FinishedAt
	}
	return r.exit.FinishedAt.Add(r.backoff)
}

func (m *Machine) maxBackoff() time.Duration {
	if m.spec.MaxBackoff > 0 {
		return m.spec.MaxBackoff
	}
	return defaultMaxBackoff
}

func (m *Machine) restart(r *containerRun) Effect {
	longest := m.maxBackoff()
	if r.exit.FinishedAt.Sub(r.exit.StartedAt) >= 2*longest {
		r.backoff = 0
	}
	r.backoff = min(max(2*r.backoff, initialBackoff), longest)
	r.archive()
	return r.start()
}

// archive records the terminated run as the previous one and counts a restart.
func (r *containerRun) archive() {
	last := r.exit
	r.last = &last
	r.restarts++
}

// allTerminated reports whether no regular container will run again: all have terminated without a
// restart, or an init container has failed without a restart.
func (m *Machine) allTerminated() bool {
	if m.isTerminal() || m.initFailed() {
		return true
	}
	for i := range m.containers {
		if r := &m.containers[i]; r.main() && (r.state != ContainerTerminated || m.shouldRestart(r)) {
			return false
		}
	}
	return len(m.spec.Containers) > 0
}

func (m *Machine) initFailed() bool {
	return slices.ContainsFunc(m.containers, func(r containerRun) bool {
		return r.init && !r.Sidecar && !m.initialized && r.state == ContainerTerminated && r.exit.Code != 0 && !m.shouldRestart(&r)
	})
}

// stopSidecars stops the sidecars and then sets the final phase.
func (m *Machine) stopSidecars(now time.Time) (effects []Effect, wake time.Time) {
	if m.deadline.IsZero() {
		m.deadline = now.Add(m.spec.GracePeriod())
	}
	effects, wake, running := m.stopNext(now, nil)
	if running {
		return effects, wake
	}
	if !m.isTerminal() {
		m.setFinalPhase()
	}
	return m.reportStopped(effects), time.Time{}
}

// reportStopped adds PodStopped once.
func (m *Machine) reportStopped(effects []Effect) []Effect {
	if !m.stopped {
		m.stopped = true
		effects = append(effects, PodStopped{})
	}
	return effects
}

// setFinalPhase sets the phase to Succeeded or Failed.
func (m *Machine) setFinalPhase() {
	m.phase = Succeeded
	if m.failure != nil || m.initFailed() {
		m.phase = Failed
	}
	for i := range m.containers {
		if r := &m.containers[i]; r.main() && (r.state != ContainerTerminated || r.exit.Code != 0) {
			m.phase = Failed
		}
	}
}
