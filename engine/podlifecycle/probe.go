package podlifecycle

import "time"

// restartCause is why a run is stopped and restarted.
type restartCause uint8

const (
	noRestart restartCause = iota
	failedProbe
	specChanged
)

func (e ProbeResult) apply(m *Machine, now time.Time) {
	r := m.container(e.Container)
	if r == nil || r.state != ContainerRunning || r.activeProbes&e.Probe == 0 || e.Attempt != r.restarts {
		return
	}
	fail := func(grace time.Duration) {
		if grace == 0 {
			grace = m.spec.GracePeriod()
		}
		if r.restartCause == noRestart {
			r.restartCause, r.replaceDeadline = failedProbe, now.Add(grace)
		}
	}
	switch {
	case e.Probe == Readiness:
		r.ready = e.OK
	case e.Probe == Startup && e.OK:
		r.startupPassed = true
	case e.Probe == Startup:
		fail(r.StartupGrace)
	case e.Probe == Liveness && !e.OK:
		fail(r.LivenessGrace)
	}
}

func (r *containerRun) isReady() bool {
	return r.state == ContainerRunning && r.startupPassed && r.ready
}

// desiredProbes returns the probes that should run now: the startup probe alone until it has passed;
// for a terminating container the readiness probe only.
func (m *Machine) desiredProbes(r *containerRun) Probes {
	stopping := m.isTerminating() || r.restartCause != noRestart
	switch {
	case r.state != ContainerRunning || r.killed:
		return 0
	case !r.startupPassed && stopping:
		return 0
	case !r.startupPassed:
		return Startup
	case stopping:
		return r.Probes & Readiness
	}
	return r.Probes & (Readiness | Liveness)
}

// updateProbes starts and stops probes.
func (m *Machine) updateProbes(effects []Effect) []Effect {
	for i := range m.containers {
		r := &m.containers[i]
		if r.Probes == 0 {
			continue
		}
		desired := m.desiredProbes(r)
		for _, p := range [...]Probes{Startup, Readiness, Liveness} {
			switch {
			case r.activeProbes&p != 0 && desired&p == 0:
				effects = append(effects, StopProbe{r.Name, p})
			case r.activeProbes&p == 0 && desired&p != 0:
				effects = append(effects, StartProbe{r.Name, p, r.restarts})
			}
		}
		r.activeProbes = desired
	}
	return effects
}
