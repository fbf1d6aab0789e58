package podlife

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
	unhooked hook = iota
	hooking
	hooked
)

// stopAll ends a pod that is being deleted or made to fail.
func (l *Life) stopAll(now time.Time) (effects []Effect, wake time.Time) {
	if l.abrupt {
		effects = l.killAll()
	}
	effects, wake, running := l.stopNext(now, effects)
	if running {
		return effects, wake
	}
	if !l.ended() && (l.failure != nil || l.phase != Pending) {
		l.settle()
	}
	effects = l.finale(effects)
	if l.deleting {
		l.gone = true
		effects = append(effects, Gone{})
	}
	return effects, time.Time{}
}

// killAll kills all that runs, unless that has been done.
func (l *Life) killAll() (effects []Effect) {
	for i := range l.runs {
		if r := &l.runs[i]; r.alive() && !r.killed {
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
func (l *Life) stopNext(now time.Time, effects []Effect) (_ []Effect, wake time.Time, running bool) {
	stop := func(r *run, turn bool) {
		deadline := l.deadline
		if r.replaced != intact {
			deadline = earlier(r.by, deadline)
		}
		effect, at := r.stop(now, deadline, turn)
		if effect != nil {
			effects = append(effects, effect)
		}
		wake = earlier(wake, at)
		running = true
	}
	for i := range l.runs {
		if r := &l.runs[i]; !r.Sidecar && r.alive() {
			stop(r, true)
		}
	}
	for i := len(l.runs) - 1; i >= 0; i-- {
		if r := &l.runs[i]; r.Sidecar && r.alive() {
			stop(r, !running)
		}
	}
	return effects, wake, running
}

func (r *run) alive() bool { return r.state == Up || r.state == Starting }

// stop takes the end of a container one step further; turn says that nothing that has to
// end before it runs any more. wake is zero when only its exit is waited for.
func (r *run) stop(now, deadline time.Time, turn bool) (effect Effect, wake time.Time) {
	early := now.Before(deadline)
	switch {
	case r.killed:
		return nil, time.Time{}
	case !r.stopped.IsZero():
		if kill := later(deadline, r.stopped.Add(minStop)); now.Before(kill) {
			return nil, kill
		}
		r.killed = true
		return Kill{r.Name}, time.Time{}
	case early && r.PreStop && r.hook == unhooked && r.state == Up:
		r.hook = hooking
		return PreStop{r.Name, deadline}, deadline
	case early && (r.hook == hooking || !turn):
		return nil, deadline
	}
	r.stopped = now
	kill := later(deadline, now.Add(minStop))
	return Stop{r.Name, kill}, kill
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
