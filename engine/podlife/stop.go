package podlife

import "time"

// stopAll ends a pod that is being deleted.
func (l *Life) stopAll(now time.Time, effects []Effect) ([]Effect, time.Time) {
	effects, wake, running := l.stopNext(now, effects)
	if running {
		return effects, wake
	}
	if l.phase != Succeeded && l.phase != Failed && l.phase != Pending {
		l.settle()
	}
	l.gone = true
	return append(effects, Gone{}), time.Time{}
}

// stopNext stops containers and init containers together, then the sidecars one
// by one in reverse order; whoever still runs at the deadline is killed.
// running says that something is not yet down.
func (l *Life) stopNext(now time.Time, effects []Effect) (_ []Effect, wake time.Time, running bool) {
	for i := range l.runs {
		if r := &l.runs[i]; !r.Sidecar && r.alive() {
			effects, running = r.stop(now, l.deadline, effects), true
		}
	}
	for i := len(l.runs) - 1; i >= 0; i-- {
		r := &l.runs[i]
		if !r.Sidecar || !r.alive() {
			continue
		}
		if !running || !now.Before(l.deadline) {
			effects = r.stop(now, l.deadline, effects)
		}
		running = true
	}
	if running && now.Before(l.deadline) {
		wake = l.deadline
	}
	return effects, wake, running
}

func (r *run) alive() bool { return r.state == Up || r.state == Starting }

func (r *run) stop(now, deadline time.Time, effects []Effect) []Effect {
	switch {
	case !now.Before(deadline) && !r.killed:
		r.killed = true
		return append(effects, Kill{r.Name})
	case now.Before(deadline) && !r.stopping:
		r.stopping = true
		return append(effects, Stop{r.Name, deadline})
	}
	return effects
}
