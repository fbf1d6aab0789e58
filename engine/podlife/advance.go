package podlife

import "time"

// done says that an init container no longer holds back what comes after it.
func (r *run) done() bool {
	if r.Sidecar {
		return r.state == Up
	}
	return r.state == Ended && r.exit.Code == 0
}

// restarts says whether an ended container is to run again.
func (l *Life) restarts(r *run) bool {
	switch {
	case r.Sidecar:
		return true
	case r.init:
		return r.exit.Code != 0 && l.spec.Restart != Never
	case l.spec.Restart == Always:
		return true
	case l.spec.Restart == OnFailure:
		return r.exit.Code != 0
	}
	return false
}

// advance starts what may start now: init containers in their order, then all
// containers together; and finishes the pod when nothing is left to run.
func (l *Life) advance(now time.Time) (effects []Effect, wake time.Time) {
	if l.finished() {
		return l.finish(now)
	}
	held := false // an earlier init container holds back the rest
	for i := range l.runs {
		r := &l.runs[i]
		if !r.init && !l.Initialized() || r.init && held {
			continue
		}
		if r.init && !r.Sidecar && r.done() {
			continue
		}
		switch {
		case r.state == Waiting:
			effects = append(effects, r.start())
		case r.state == Ended && l.restarts(r):
			if at := r.again(); at.After(now) {
				wake = earlier(wake, at)
			} else {
				effects = append(effects, r.restart())
			}
		}
		if r.init && !r.done() {
			held = true
		}
		if !r.init && l.phase == Pending {
			l.phase = Running
		}
	}
	return effects, wake
}

func (r *run) start() Effect {
	r.state, r.started = Starting, time.Time{}
	return Start{r.Name}
}

// again is when an ended container may run again.
func (r *run) again() time.Time {
	if r.exit.Ended.Sub(r.exit.Started) >= forgiven {
		return r.exit.Ended
	}
	return r.exit.Ended.Add(r.delay)
}

func (r *run) restart() Effect {
	if r.exit.Ended.Sub(r.exit.Started) >= forgiven {
		r.delay = 0
	}
	r.delay = min(max(2*r.delay, firstDelay), maxDelay)
	last := r.exit
	r.last = &last
	r.restarts++
	return r.start()
}

// finished says that no container will run again: all have ended for good, or
// an init container failed for good.
func (l *Life) finished() bool {
	if l.initFailed() {
		return true
	}
	for i := range l.runs {
		if r := &l.runs[i]; !r.init && (r.state != Ended || l.restarts(r)) {
			return false
		}
	}
	return len(l.spec.Containers) > 0
}

func (l *Life) initFailed() bool {
	for i := range l.runs {
		if r := &l.runs[i]; r.init && !r.Sidecar && r.state == Ended && r.exit.Code != 0 && l.spec.Restart == Never {
			return true
		}
	}
	return false
}

// finish ends the sidecars and then settles the phase.
func (l *Life) finish(now time.Time) ([]Effect, time.Time) {
	if l.deadline.IsZero() {
		grace := l.spec.Grace
		if grace == 0 {
			grace = defaultGrace
		}
		l.deadline = now.Add(grace)
	}
	effects, wake, running := l.stopNext(now, nil)
	if running {
		return effects, wake
	}
	l.settle()
	return effects, time.Time{}
}

// settle decides between Succeeded and Failed.
func (l *Life) settle() {
	l.phase = Succeeded
	if l.initFailed() {
		l.phase = Failed
	}
	for i := range l.runs {
		if r := &l.runs[i]; !r.init && (r.state != Ended || r.exit.Code != 0) {
			l.phase = Failed
		}
	}
}

// earlier is the earlier of two times of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
