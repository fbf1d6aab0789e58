package podlife

import "time"

func (e Started) apply(l *Life, now time.Time) {
	r := l.run(e.Container)
	if r == nil || r.state != Starting {
		return
	}
	r.state, r.started = Up, or(e.At, now)
	r.launched, r.ready = r.Probes&Startup == 0, r.Probes&Readiness == 0
}

func (e Waiting) apply(l *Life, _ time.Time) {
	if r := l.run(e.Container); r != nil && r.state == Starting {
		r.reason, r.message = e.Reason, e.Message
	}
}

func (e Exited) apply(l *Life, now time.Time) {
	r := l.run(e.Container)
	if r == nil || !r.alive() {
		return
	}
	at := or(e.At, now)
	began := or(e.Began, or(r.started, at))
	l.end(r, Exit{Code: e.Code, Signal: e.Signal, Reason: e.Reason, Message: e.Message, Started: began, Ended: at})
}

// end ends a run.
func (l *Life) end(r *run, x Exit) {
	x.DeadlineReached = r.killed
	x.Replaced = r.replaced == changed || r.replaced == failedProbe && l.policy(r) != Never
	r.state, r.exit = Ended, x
	r.reason, r.message, r.launched, r.ready = "", "", false, false
	r.hook, r.stopped, r.killed, r.replaced = unhooked, time.Time{}, false, intact
}

func (e PreStopped) apply(l *Life, _ time.Time) {
	if r := l.run(e.Container); r != nil && r.hook == hooking {
		r.hook = hooked
	}
}

func (e Replace) apply(l *Life, now time.Time) {
	if r := l.run(e.Container); r != nil && r.alive() {
		r.replaced, r.by = changed, now.Add(l.spec.Patience())
	}
}

func (e Limit) apply(l *Life, _ time.Time) { l.spec.Deadline = e.Deadline }

func (e Lost) apply(l *Life, _ time.Time) {
	if l.spec.Restart == Never || l.ending() || l.ended() {
		return
	}
	l.initialized = len(l.spec.Init) == 0
	for i := range l.runs {
		if r := &l.runs[i]; r.init && !r.Sidecar && r.state == Ended {
			r.retire()
			r.state = Idle
		}
	}
}

func (e Delete) apply(l *Life, now time.Time) {
	end := now.Add(e.Grace)
	if !l.ending() || end.Before(l.deadline) {
		l.deadline = end
	}
	l.deleting = true
}

func (e Fail) apply(l *Life, now time.Time) {
	if l.ended() {
		return
	}
	end := now.Add(e.Grace)
	if !l.ending() || end.Before(l.deadline) {
		l.deadline = end
	}
	if l.failure == nil {
		l.failure = &Failure{e.Reason, e.Message}
	}
	l.abrupt = l.abrupt || e.Now
}

func or(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}
