package podlife

import (
	"slices"
	"time"
)

// done says that an init container no longer holds back what comes after it.
func (r *run) done() bool {
	if r.Sidecar {
		return r.state == Up && r.launched
	}
	return r.state == Ended && r.exit.Code == 0
}

// policy is the restart policy that holds for a container.
func (l *Life) policy(r *run) RestartPolicy {
	switch {
	case r.Sidecar:
		return Always
	case r.Restart != nil:
		return *r.Restart
	}
	return l.spec.Restart
}

// restarts says whether an ended container is to run again.
func (l *Life) restarts(r *run) bool {
	if r.exit.Replaced || r.Sidecar {
		return true
	}
	if r.exit.Code != 0 && slices.ContainsFunc(r.Rules, func(rule RestartRule) bool {
		return slices.Contains(rule.Codes, r.exit.Code) != rule.Not
	}) {
		return true
	}
	policy := l.policy(r)
	return policy == Always && !r.init || r.exit.Code != 0 && policy != Never
}

// advance starts what may start now: init containers in their order, then all
// containers together.
func (l *Life) advance(now time.Time) (effects []Effect, wake time.Time) {
	held := false // an init container that has yet to do its part holds back the rest
	for i := range l.runs {
		r := &l.runs[i]
		if !r.init && !l.initialized {
			if held {
				break
			}
			l.initialized = true
		}
		if r.init && (held || !r.Sidecar && (l.initialized || r.done())) {
			continue
		}
		effect, at := l.tend(r, now)
		if effect != nil {
			effects = append(effects, effect)
		}
		wake = earlier(wake, at)
		held = r.init && !l.initialized && !r.done()
	}
	if l.phase == Pending && l.allHaveRun() {
		l.phase = Running
	}
	return effects, wake
}

// tend takes a container whose turn it is one step further.
func (l *Life) tend(r *run, now time.Time) (effect Effect, wake time.Time) {
	switch {
	case r.state == Idle:
		return r.start(), time.Time{}
	case r.state == Ended && l.restarts(r):
		if at := l.again(r); at.After(now) {
			return nil, at
		}
		return l.restart(r), time.Time{}
	case r.alive() && r.replaced != intact:
		return r.stop(now, r.by, true)
	}
	return nil, time.Time{}
}

// allHaveRun says that each container has run, however shortly.
func (l *Life) allHaveRun() bool {
	for i := range l.runs {
		if r := &l.runs[i]; !r.init && r.state != Up && r.state != Ended && r.restarts == 0 {
			return false
		}
	}
	return l.initialized && len(l.spec.Containers) > 0
}

func (r *run) start() Effect {
	r.state, r.started, r.reason, r.message = Starting, time.Time{}, "", ""
	return Start{r.Name, r.restarts}
}

// again is when an ended container may run again.
func (l *Life) again(r *run) time.Time {
	if r.exit.Ended.Sub(r.exit.Started) >= 2*l.maxDelay() {
		return r.exit.Ended
	}
	return r.exit.Ended.Add(r.delay)
}

func (l *Life) maxDelay() time.Duration {
	if l.spec.MaxDelay > 0 {
		return l.spec.MaxDelay
	}
	return maxDelay
}

func (l *Life) restart(r *run) Effect {
	longest := l.maxDelay()
	if r.exit.Ended.Sub(r.exit.Started) >= 2*longest {
		r.delay = 0
	}
	r.delay = min(max(2*r.delay, firstDelay), longest)
	r.retire()
	return r.start()
}

// retire makes a run that has ended the last one.
func (r *run) retire() {
	last := r.exit
	r.last = &last
	r.restarts++
}

// finished says that no container will run again: all have ended for good, or
// an init container failed for good.
func (l *Life) finished() bool {
	if l.ended() || l.initFailed() {
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
	return slices.ContainsFunc(l.runs, func(r run) bool {
		return r.init && !r.Sidecar && !l.initialized && r.state == Ended && r.exit.Code != 0 && !l.restarts(&r)
	})
}

// finish ends the sidecars and then settles the phase.
func (l *Life) finish(now time.Time) (effects []Effect, wake time.Time) {
	if l.deadline.IsZero() {
		l.deadline = now.Add(l.spec.Patience())
	}
	effects, wake, running := l.stopNext(now, nil)
	if running {
		return effects, wake
	}
	if !l.ended() {
		l.settle()
	}
	return l.finale(effects), time.Time{}
}

// finale says once that all is over.
func (l *Life) finale(effects []Effect) []Effect {
	if !l.over {
		l.over = true
		effects = append(effects, Over{})
	}
	return effects
}

// settle decides between Succeeded and Failed.
func (l *Life) settle() {
	l.phase = Succeeded
	if l.failure != nil || l.initFailed() {
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
