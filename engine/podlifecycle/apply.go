package podlifecycle

import "time"

func (e Started) apply(m *Machine, now time.Time) {
	r := m.container(e.Container)
	if r == nil || r.state != ContainerStarting {
		return
	}
	r.state, r.started = ContainerRunning, timeOr(e.At, now)
	r.startupPassed, r.ready = r.Probes&Startup == 0, r.Probes&Readiness == 0
}

func (e Waiting) apply(m *Machine, _ time.Time) {
	if r := m.container(e.Container); r != nil && r.state == ContainerStarting {
		r.reason, r.message = e.Reason, e.Message
	}
}

func (e Exited) apply(m *Machine, now time.Time) {
	r := m.container(e.Container)
	if r == nil || !r.active() {
		return
	}
	at := timeOr(e.FinishedAt, now)
	startedAt := timeOr(e.StartedAt, timeOr(r.started, at))
	m.endContainer(r, Exit{Code: e.Code, Signal: e.Signal, Reason: e.Reason, Message: e.Message, StartedAt: startedAt, FinishedAt: at})
}

func (m *Machine) endContainer(r *containerRun, x Exit) {
	x.DeadlineReached = r.killed
	x.Replaced = r.restartCause == specChanged || r.restartCause == failedProbe && m.restartPolicy(r) != Never
	r.state, r.exit = ContainerTerminated, x
	r.reason, r.message, r.startupPassed, r.ready = "", "", false, false
	r.hook, r.stopRequestedAt, r.killed, r.restartCause = hookNotRun, time.Time{}, false, noRestart
}

func (e PreStopDone) apply(m *Machine, _ time.Time) {
	if r := m.container(e.Container); r != nil && r.hook == hookRunning {
		r.hook = hookDone
	}
}

func (e RestartContainer) apply(m *Machine, now time.Time) {
	r := m.container(e.Container)
	if r == nil {
		return
	}
	if !e.Resize {
		r.backoff = 0 // the failures were those of another image
	}
	if r.active() {
		r.restartCause, r.replaceDeadline = specChanged, now.Add(m.spec.GracePeriod())
	}
}

func (e AddEphemeral) apply(m *Machine, _ time.Time) {
	if m.container(e.Container.Name) == nil {
		m.containers = append(m.containers, containerRun{Container: e.Container, ephemeral: true})
	}
}

func (e SetDeadline) apply(m *Machine, _ time.Time) { m.spec.Deadline = e.Deadline }

func (e SandboxLost) apply(m *Machine, _ time.Time) {
	if m.spec.RestartPolicy == Never || m.isTerminating() || m.isTerminal() {
		return
	}
	m.initialized = len(m.spec.Init) == 0
	for i := range m.containers {
		if r := &m.containers[i]; r.init && !r.Sidecar && r.state == ContainerTerminated {
			r.archive()
			r.state = ContainerNotStarted
		}
	}
}

func (e Delete) apply(m *Machine, now time.Time) {
	end := now.Add(e.Grace)
	if !m.isTerminating() || end.Before(m.deadline) {
		m.deadline = end
	}
	m.deleting = true
}

func (e Fail) apply(m *Machine, now time.Time) {
	if m.isTerminal() {
		return
	}
	end := now.Add(e.Grace)
	if !m.isTerminating() || end.Before(m.deadline) {
		m.deadline = end
	}
	if m.failure == nil {
		m.failure = &Failure{e.Reason, e.Message}
	}
	m.killNow = m.killNow || e.KillNow
}

func timeOr(t, fallback time.Time) time.Time {
	if t.IsZero() {
		return fallback
	}
	return t
}
