package podlifecycle

import "time"

// minStop lies between asking a container to stop and killing it, whatever is left of the
// pod's grace: the kubelet's minimum, so that a hook that used up the grace does not cost the
// program its last words.
const minStop = 2 * time.Second

// defaultGrace is a pod's grace when its specification says none.
const defaultGrace = 30 * time.Second

// hook is how far a container's preStop hook is.
type hook uint8

const (
	hookNotRun hook = iota
	hookRunning
	hookDone
)

// stopAll ends a pod that is being deleted or made to fail.
func (l *Machine) stopAll(now time.Time) (effects []Effect, wake time.Time) {
	if l.killNow {
		effects = l.killAll()
	}
	effects, wake, running := l.stopNext(now, effects)
	if running {
		return effects, wake
	}
	if !l.terminal() && (l.failure != nil || l.phase != Pending) {
		l.setFinalPhase()
	}
	effects = l.reportStopped(effects)
	if l.deleting {
		l.removed = true
		effects = append(effects, PodRemoved{})
	}
	return effects, time.Time{}
}

// killAll kills all that runs, unless that has been done.
func (l *Machine) killAll() (effects []Effect) {
	for i := range l.containers {
		if r := &l.containers[i]; r.alive() && !r.killed {
			r.killed = true
			effects = append(effects, Kill{r.Name})
		}
	}
	return effects
}

// stopNext stops containers and init containers together, then the sidecars one
// by one in reverse order. preStop hooks run at once, those of sidecars too, and share the
// one deadline with what comes after them. At the deadline everybody is asked to stop.
// running says that something is not yet down.
func (l *Machine) stopNext(now time.Time, effects []Effect) (_ []Effect, wake time.Time, running bool) {
	stop := func(r *containerRun, turn bool) {
		deadline := l.deadline
		if r.restartCause != noRestart {
			deadline = earliest(r.replaceDeadline, deadline)
		}
		effect, at := r.stop(now, deadline, turn)
		if effect != nil {
			effects = append(effects, effect)
		}
		wake = earliest(wake, at)
		running = true
	}
	for i := range l.containers {
		if r := &l.containers[i]; !r.Sidecar && r.alive() {
			stop(r, true)
		}
	}
	for i := len(l.containers) - 1; i >= 0; i-- {
		if r := &l.containers[i]; r.Sidecar && r.alive() {
			stop(r, !running)
		}
	}
	return effects, wake, running
}

func (r *containerRun) alive() bool {
	return r.state == ContainerRunning || r.state == ContainerStarting
}

// stop takes the end of a container one step further; turn says that nothing that has to
// end before it runs any more. wake is zero when only its exit is waited for.
func (r *containerRun) stop(now, deadline time.Time, turn bool) (effect Effect, wake time.Time) {
	early := now.Before(deadline)
	switch {
	case r.killed:
		return nil, time.Time{}
	case !r.stopRequestedAt.IsZero():
		if kill := maxTime(deadline, r.stopRequestedAt.Add(minStop)); now.Before(kill) {
			return nil, kill
		}
		r.killed = true
		return Kill{r.Name}, time.Time{}
	case early && r.PreStop && r.hook == hookNotRun && r.state == ContainerRunning:
		r.hook = hookRunning
		return RunPreStop{r.Name, deadline}, deadline
	case early && (r.hook == hookRunning || !turn):
		return nil, deadline
	}
	r.stopRequestedAt = now
	kill := maxTime(deadline, now.Add(minStop))
	return Stop{r.Name, kill}, kill
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
