package podlife

// Resume is the life of a pod that was under way before its agent restarted.
// Containers that Was says are Up go on; the runtime must know them.
func Resume(spec Spec, phase Phase, was []Status) *Life {
	l := New(spec)
	l.phase = phase
	for _, s := range was {
		r := l.run(s.Name)
		if r == nil {
			continue
		}
		r.state, r.started, r.exit, r.last, r.restarts = s.State, s.Started, s.Exit, s.Last, s.Restarts
		if r.state == Starting {
			r.state = Idle // it is started once more, which finds what has begun
		}
		if r.state == Up {
			r.launched, r.ready = s.Launched || r.Probes&Startup == 0, s.Ready || r.Probes&Readiness == 0
		}
		if r.restarts > 0 {
			// How often it has been delayed is not reported; the count bounds it.
			r.delay = min(firstDelay<<min(r.restarts-1, 5), l.maxDelay())
		}
		l.initialized = l.initialized || !r.init && (r.state != Idle || r.restarts > 0)
	}
	return l
}
