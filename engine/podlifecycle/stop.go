package podlifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/order"
)

// minStop is the minimum time between the stop request and the kill of a container. As in the kubelet, it applies even
// if a hook used up the grace period.
const minStop = 2 * time.Second

// defaultGrace is the grace period of a pod whose specification has none.
const defaultGrace = 30 * time.Second

// hook is the state of a container's preStop hook.
type hook uint8

const (
	hookNotRun hook = iota
	hookRunning
	hookDone
)

// stopAll terminates a pod that is being deleted or failed.
func (m *Machine) stopAll(now time.Time) (effects []Effect, wake time.Time) {
	if m.killNow {
		effects = m.killAll()
	}
	effects, wake, running := m.stopNext(now, effects)
	if running {
		return effects, wake
	}
	if !m.isTerminal() {
		m.setFinalPhase()
	}
	effects = m.reportStopped(effects)
	if m.deleting {
		m.removed = true
		effects = append(effects, PodRemoved{})
	}
	return effects, time.Time{}
}

// killAll kills all running containers once.
func (m *Machine) killAll() (effects []Effect) {
	for i := range m.containers {
		if r := &m.containers[i]; r.active() && !r.killed {
			r.killed = true
			effects = append(effects, Kill{r.Name})
		}
	}
	return effects
}

// stopNext stops containers and init containers at once, then the sidecars one by one in reverse
// order. preStop hooks, also those of sidecars, run at once and count against the deadline. At the
// deadline all remaining containers get a stop request. running reports whether a container still
// runs.
func (m *Machine) stopNext(now time.Time, effects []Effect) (_ []Effect, wake time.Time, running bool) {
	stop := func(r *containerRun, mayStop bool) {
		deadline := m.deadline
		if r.restartCause != noRestart {
			deadline = order.Earliest(r.replaceDeadline, deadline)
		}
		effect, at := r.stop(now, deadline, mayStop)
		if effect != nil {
			effects = append(effects, effect)
		}
		wake = order.Earliest(wake, at)
		running = true
	}
	for i := range m.containers {
		if r := &m.containers[i]; !r.Sidecar && r.active() {
			stop(r, true)
		}
	}
	for i := len(m.containers) - 1; i >= 0; i-- {
		if r := &m.containers[i]; r.Sidecar && r.active() {
			stop(r, !running)
		}
	}
	return effects, wake, running
}

// active reports whether the container runs or starts.
func (r *containerRun) active() bool {
	return r.state == ContainerRunning || r.state == ContainerStarting
}

// stop takes the next step of stopping a container. mayStop reports whether all containers that must
// terminate before it have terminated. wake is zero if only its exit is pending.
func (r *containerRun) stop(now, deadline time.Time, mayStop bool) (effect Effect, wake time.Time) {
	beforeDeadline := now.Before(deadline)
	switch {
	case r.killed:
		return nil, time.Time{}
	case !r.stopRequestedAt.IsZero():
		if kill := order.Max(deadline, r.stopRequestedAt.Add(minStop)); now.Before(kill) {
			return nil, kill
		}
		r.killed = true
		return Kill{r.Name}, time.Time{}
	case beforeDeadline && r.PreStop && r.hook == hookNotRun && r.state == ContainerRunning:
		r.hook = hookRunning
		return RunPreStop{r.Name, deadline}, deadline
	case beforeDeadline && (r.hook == hookRunning || !mayStop):
		return nil, deadline
	}
	r.stopRequestedAt = now
	kill := order.Max(deadline, now.Add(minStop))
	return Stop{r.Name, kill}, kill
}
