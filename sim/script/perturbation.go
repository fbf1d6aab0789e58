package script

import (
	"time"

	"github.com/berthproject/berth/sim/cluster"
)

// Perturbation is a disturbance under which a scenario must keep its outcome.
type Perturbation struct {
	// Restarts restarts every actor shortly after each step and halfway to the next.
	Restarts bool
	// Lag is extra watch lag; some events are also delayed further or delivered twice.
	Lag time.Duration
	// ExpectTimeout is how long an expectation may take to be met.
	ExpectTimeout time.Duration
	// FinalState is the required final state (Result.FinalState); nil means any.
	FinalState []string
}

// apply adds the lag to the options.
func (p Perturbation) apply(o *cluster.Options) {
	if p.Lag == 0 {
		return
	}
	o.Lag += p.Lag
	o.Faults.Delays, o.Faults.Repeats = max(o.Faults.Delays, 0.2), max(o.Faults.Repeats, 0.1)
	o.Faults.MaxDelay = max(o.Faults.MaxDelay, 2*p.Lag)
}

// How long restarted actors are down, and the interval at which unmet expectations are
// checked.
const (
	restartDuration = 30 * time.Millisecond
	expectInterval  = 10 * time.Millisecond
)

// scheduleRestarts schedules the restarts of a perturbation.
func (r *run) scheduleRestarts(steps []step) {
	if !r.perturbation.Restarts {
		return
	}
	for i := range steps {
		at, next := steps[i].at, steps[i].at+10*time.Second
		if i+1 < len(steps) {
			next = steps[i+1].at
		}
		if next == at {
			continue
		}
		r.w.At(min(at+7*time.Millisecond, (at+next)/2), func() { r.w.RestartAll(restartDuration) })
		if next-at > time.Second {
			r.w.At((at+next)/2, func() { r.w.RestartAll(restartDuration) })
		}
	}
}

// advance runs the simulation until a time and checks pending expectations.
func (r *run) advance(until time.Duration) {
	for len(r.pendingExpectations) > 0 && r.w.Elapsed()+expectInterval < until && !r.ended() {
		r.result.Violation = r.w.Run(r.w.Elapsed() + expectInterval)
		r.checkExpectations()
	}
	if r.result.Violation == nil {
		r.result.Violation = r.w.Run(until)
	}
}

// addExpectation checks an expectation, repeatedly until its timeout.
func (r *run) addExpectation(s *step) {
	r.pendingExpectations = append(r.pendingExpectations, s)
	r.checkExpectations()
}

// checkExpectations removes met expectations and fails expired ones.
func (r *run) checkExpectations() {
	remaining := r.pendingExpectations[:0]
	for _, s := range r.pendingExpectations {
		err := s.execute(r)
		switch {
		case err == nil:
		case r.w.Elapsed() < s.at+r.perturbation.ExpectTimeout:
			remaining = append(remaining, s)
		default:
			r.result.Failed = append(r.result.Failed, &Error{r.s.File, s.line, err.Error()})
		}
	}
	r.pendingExpectations = remaining
}

// awaitExpectations waits for the pending expectations at the end.
func (r *run) awaitExpectations(until time.Duration) {
	if r.perturbation.FinalState != nil {
		r.pendingExpectations = append(r.pendingExpectations, &step{at: until, execute: func(r *run) error { return r.checkState(r.perturbation.FinalState) }})
		r.checkExpectations()
	}
	for len(r.pendingExpectations) > 0 && !r.ended() {
		until += expectInterval
		r.result.Violation = r.w.Run(until)
		r.checkExpectations()
	}
}
