package podlife

import "time"

// replaced says why a run is to end and to begin anew.
type replaced uint8

const (
	intact replaced = iota
	failedProbe
	changed
)

func (e Probed) apply(l *Life, now time.Time) {
	r := l.run(e.Container)
	if r == nil || r.state != Up || r.probing&e.Probe == 0 || e.Attempt != r.restarts {
		return
	}
	fail := func(grace time.Duration) {
		if grace == 0 {
			grace = l.spec.Patience()
		}
		if r.replaced == intact {
			r.replaced, r.by = failedProbe, now.Add(grace)
		}
	}
	switch {
	case e.Probe == Readiness:
		r.ready = e.OK
	case e.Probe == Startup && e.OK:
		r.launched = true
	case e.Probe == Startup:
		fail(r.StartupGrace)
	case e.Probe == Liveness && !e.OK:
		fail(r.LivenessGrace)
	}
}

// serves says that a container runs and is ready.
func (r *run) serves() bool { return r.state == Up && r.launched && r.ready }

// wants are the probes that are to run now: the startup probe alone until it has passed; of
// a container that is to end only whether it is still ready.
func (l *Life) wants(r *run) Probes {
	leaving := l.ending() || r.replaced != intact
	switch {
	case r.state != Up || r.killed:
		return 0
	case !r.launched && leaving:
		return 0
	case !r.launched:
		return Startup
	case leaving:
		return r.Probes & Readiness
	}
	return r.Probes & (Readiness | Liveness)
}

// probe adds the probes that begin and end now.
func (l *Life) probe(effects []Effect) []Effect {
	for i := range l.runs {
		r := &l.runs[i]
		if r.Probes == 0 {
			continue
		}
		want := l.wants(r)
		for _, p := range [...]Probes{Startup, Readiness, Liveness} {
			switch {
			case r.probing&p != 0 && want&p == 0:
				effects = append(effects, Unprobe{r.Name, p})
			case r.probing&p == 0 && want&p != 0:
				effects = append(effects, Probe{r.Name, p, r.restarts})
			}
		}
		r.probing = want
	}
	return effects
}
