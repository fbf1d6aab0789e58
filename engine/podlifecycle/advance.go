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

// restartPolicy returns the restart policy that applies to a container.
func (l *Machine) restartPolicy(r *containerRun) RestartPolicy {
	switch {
	case r.Sidecar:
		return Always
	case r.RestartPolicy != nil:
		return *r.RestartPolicy
	}
	return l.spec.RestartPolicy
}

// shouldRestart reports whether a terminated container restarts.
func (l *Machine) shouldRestart(r *containerRun) bool {
	if r.exit.Replaced || r.Sidecar {
		return true
	}
	if r.exit.Code != 0 && slices.ContainsFunc(r.RestartRules, func(rule RestartRule) bool {
		return slices.Contains(rule.Codes, r.exit.Code) != rule.NotIn
	}) {
		return true
	}
	policy := l.restartPolicy(r)
	return policy == Always && !r.init || r.exit.Code != 0 && policy != Never
}

// advance starts what may start now: init containers in order, then all containers at once.
func (l *Machine) advance(now time.Time) (effects []Effect, wake time.Time) {
	held := false // an unfinished init container blocks the rest
	for i := range l.containers {
		r := &l.containers[i]
		if !r.init && !l.initialized {
			if held {
				break
			}
			l.initialized = true
		}
		if r.init && (held || !r.Sidecar && (l.initialized || r.initDone())) {
			continue
		}
		effect, at := l.advanceContainer(r, now)
		if effect != nil {
			effects = append(effects, effect)
		}
		wake = order.Earliest(wake, at)
		held = r.init && !l.initialized && !r.initDone()
	}
	if l.phase == Pending && l.allHaveRun() {
		l.phase = Running
	}
	return effects, wake
}

// advanceContainer takes the next step for a container that is not blocked.
func (l *Machine) advanceContainer(r *containerRun, now time.Time) (effect Effect, wake time.Time) {
	switch {
	case r.state == ContainerNotStarted:
		return r.start(), time.Time{}
	case r.state == ContainerTerminated && l.shouldRestart(r):
		if at := l.restartAt(r); at.After(now) {
			return nil, at
		}
		return l.restart(r), time.Time{}
	case r.alive() && r.restartCause != noRestart:
		return r.stop(now, r.replaceDeadline, true)
	}
	return nil, time.Time{}
}

// allHaveRun reports whether each container has run at least once.
func (l *Machine) allHaveRun() bool {
	for i := range l.containers {
		if r := &l.containers[i]; !r.init && r.state != ContainerRunning && r.state != ContainerTerminated && r.restarts == 0 {
			return false
		}
	}
	return l.initialized && len(l.spec.Containers) > 0
}

func (r *containerRun) start() Effect {
	r.state, r.started, r.reason, r.message = ContainerStarting, time.Time{}, "", ""
	return Start{r.Name, r.restarts}
}

// restartAt returns when a terminated container may restart.
func (l *Machine) restartAt(r *containerRun) time.Time {
	if r.exit.FinishedAt.Sub(r.exit.StartedAt) >= 2*l.maxBackoff() {
		return r.exit.FinishedAt
	}
	return r.exit.FinishedAt.Add(r.backoff)
}

func (l *Machine) maxBackoff() time.Duration {
	if l.spec.MaxBackoff > 0 {
		return l.spec.MaxBackoff
	}
	return defaultMaxBackoff
}

func (l *Machine) restart(r *containerRun) Effect {
	longest := l.maxBackoff()
	if r.exit.FinishedAt.Sub(r.exit.StartedAt) >= 2*longest {
		r.backoff = 0
	}
	r.backoff = min(max(2*r.backoff, initialBackoff), longest)
	r.archive()
	return r.start()
}

// archive makes the terminated run the last one.
func (r *containerRun) archive() {
	last := r.exit
	r.last = &last
	r.restarts++
}

// allTerminated reports whether no container will run again: all have terminated for good, or an
// init container has failed for good.
func (l *Machine) allTerminated() bool {
	if l.terminal() || l.initFailed() {
		return true
	}
	for i := range l.containers {
		if r := &l.containers[i]; !r.init && (r.state != ContainerTerminated || l.shouldRestart(r)) {
			return false
		}
	}
	return len(l.spec.Containers) > 0
}

func (l *Machine) initFailed() bool {
	return slices.ContainsFunc(l.containers, func(r containerRun) bool {
		return r.init && !r.Sidecar && !l.initialized && r.state == ContainerTerminated && r.exit.Code != 0 && !l.shouldRestart(&r)
	})
}

// stopSidecars stops the sidecars and then sets the final phase.
func (l *Machine) stopSidecars(now time.Time) (effects []Effect, wake time.Time) {
	if l.deadline.IsZero() {
		l.deadline = now.Add(l.spec.GracePeriod())
	}
	effects, wake, running := l.stopNext(now, nil)
	if running {
		return effects, wake
	}
	if !l.terminal() {
		l.setFinalPhase()
	}
	return l.reportStopped(effects), time.Time{}
}

// reportStopped adds PodStopped once.
func (l *Machine) reportStopped(effects []Effect) []Effect {
	if !l.stopped {
		l.stopped = true
		effects = append(effects, PodStopped{})
	}
	return effects
}

// setFinalPhase sets the phase to Succeeded or Failed.
func (l *Machine) setFinalPhase() {
	l.phase = Succeeded
	if l.failure != nil || l.initFailed() {
		l.phase = Failed
	}
	for i := range l.containers {
		if r := &l.containers[i]; !r.init && (r.state != ContainerTerminated || r.exit.Code != 0) {
			l.phase = Failed
		}
	}
}
