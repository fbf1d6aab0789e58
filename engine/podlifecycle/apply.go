package podlifecycle

import "time"

func (e Started) apply(l *Machine, now time.Time) {
	r := l.container(e.Container)
	if r == nil || r.state != ContainerStarting {
		return
	}
	r.state, r.started = ContainerRunning, timeOr(e.At, now)
	r.startupPassed, r.ready = r.Probes&Startup == 0, r.Probes&Readiness == 0
}

func (e Waiting) apply(l *Machine, _ time.Time) {
	if r := l.container(e.Container); r != nil && r.state == ContainerStarting {
		r.reason, r.message = e.Reason, e.Message
	}
}

func (e Exited) apply(l *Machine, now time.Time) {
	r := l.container(e.Container)
	if r == nil || !r.alive() {
		return
	}
	at := timeOr(e.FinishedAt, now)
	began := timeOr(e.StartedAt, timeOr(r.started, at))
	l.endContainer(r, Exit{Code: e.Code, Signal: e.Signal, Reason: e.Reason, Message: e.Message, StartedAt: began, FinishedAt: at})
}

// endContainer ends a container's run.
func (l *Machine) endContainer(r *containerRun, x Exit) {
	x.DeadlineReached = r.killed
	x.Replaced = r.restartCause == specChanged || r.restartCause == failedProbe && l.restartPolicy(r) != Never
	r.state, r.exit = ContainerTerminated, x
	r.reason, r.message, r.startupPassed, r.ready = "", "", false, false
	r.hook, r.stopRequestedAt, r.killed, r.restartCause = hookNotRun, time.Time{}, false, noRestart
}

func (e PreStopDone) apply(l *Machine, _ time.Time) {
	if r := l.container(e.Container); r != nil && r.hook == hookRunning {
		r.hook = hookDone
	}
}

func (e RestartContainer) apply(l *Machine, now time.Time) {
	if r := l.container(e.Container); r != nil && r.alive() {
		r.restartCause, r.replaceDeadline = specChanged, now.Add(l.spec.GracePeriod())
	}
}

func (e SetDeadline) apply(l *Machine, _ time.Time) { l.spec.Deadline = e.Deadline }

func (e SandboxLost) apply(l *Machine, _ time.Time) {
	if l.spec.RestartPolicy == Never || l.terminating() || l.terminal() {
		return
	}
	l.initialized = len(l.spec.Init) == 0
	for i := range l.containers {
		if r := &l.containers[i]; r.init && !r.Sidecar && r.state == ContainerTerminated {
			r.archive()
			r.state = ContainerNotStarted
		}
	}
}

func (e Delete) apply(l *Machine, now time.Time) {
	end := now.Add(e.Grace)
	if !l.terminating() || end.Before(l.deadline) {
		l.deadline = end
	}
	l.deleting = true
}

func (e Fail) apply(l *Machine, now time.Time) {
	if l.terminal() {
		return
	}
	end := now.Add(e.Grace)
	if !l.terminating() || end.Before(l.deadline) {
		l.deadline = end
	}
	if l.failure == nil {
		l.failure = &Failure{e.Reason, e.Message}
	}
	l.killNow = l.killNow || e.KillNow
}

func timeOr(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}
