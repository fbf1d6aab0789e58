package podlifecycle

// Resume returns the machine of a pod that was running before the node agent restarted. Containers
// whose status is ContainerRunning continue; the runtime must still have them.
func Resume(spec Spec, phase Phase, statuses []Status) *Machine {
	m := New(spec)
	m.phase = phase
	for _, s := range statuses {
		r := m.container(s.Name)
		if r == nil {
			continue
		}
		r.state, r.started, r.exit, r.last, r.restarts = s.State, s.StartedAt, s.Exit, s.Last, s.Restarts
		if r.state == ContainerStarting {
			r.state = ContainerNotStarted // starting again finds a container that already runs
		}
		if r.state == ContainerRunning {
			r.startupPassed, r.ready = s.StartupPassed || r.Probes&Startup == 0, s.Ready || r.Probes&Readiness == 0
		}
		if r.restarts > 0 {
			// The number of delays is not reported; the restart count bounds it.
			r.backoff = min(initialBackoff<<min(r.restarts-1, 5), m.maxBackoff())
		}
		m.initialized = m.initialized || r.main() && (r.state != ContainerNotStarted || r.restarts > 0)
	}
	return m
}
