package script

import (
	"time"

	"github.com/berthproject/berth/sim"
)

// Hardship is what a scenario is to come out the same under.
type Hardship struct {
	// Restarts has every actor restarted after each thing that happens.
	Restarts bool
	// Lag is what all watches are behind, besides; and some changes come later still, or twice.
	Lag time.Duration
	// Patience is how long an expectation may take to come true.
	Patience time.Duration
	// End is how the cluster is to be left, as State gives it; nil: however it is.
	End []string
}

func (h Hardship) apply(o *sim.Options) {
	if h.Lag == 0 {
		return
	}
	o.Lag += h.Lag
	o.Faults.Delays, o.Faults.Repeats = max(o.Faults.Delays, 0.2), max(o.Faults.Repeats, 0.1)
	o.Faults.MaxDelay = max(o.Faults.MaxDelay, 2*h.Lag)
}

// How long actors are down, and how often expectations that have not come true are looked at.
const (
	down = 30 * time.Millisecond
	look = 10 * time.Millisecond
)

// restarts has all actors restarted between the things that happen: soon after each, when
// they are at it, and halfway to the next.
func (r *run) restarts(steps []step) {
	if !r.hard.Restarts {
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
		r.w.At(min(at+7*time.Millisecond, (at+next)/2), func() { r.w.RestartAll(down) })
		if next-at > time.Second {
			r.w.At((at+next)/2, func() { r.w.RestartAll(down) })
		}
	}
}

// advance lets things happen until a time, and looks at what is expected meanwhile.
func (r *run) advance(until time.Duration) {
	for len(r.owed) > 0 && r.w.Elapsed()+look < until && r.result.Violation == nil {
		r.result.Violation = r.w.Run(r.w.Elapsed() + look)
		r.settle()
	}
	if r.result.Violation == nil {
		r.result.Violation = r.w.Run(until)
	}
}

// expect looks at an expectation, and again until its time is over.
func (r *run) expect(s *step) {
	r.owed = append(r.owed, s)
	r.settle()
}

// settle drops what has come true, and gives up what has not in time.
func (r *run) settle() {
	kept := r.owed[:0]
	for _, s := range r.owed {
		err := s.do(r)
		switch {
		case err == nil:
		case r.w.Elapsed() < s.at+r.hard.Patience:
			kept = append(kept, s)
		default:
			r.result.Failed = append(r.result.Failed, &Error{r.s.File, s.line, err.Error()})
		}
	}
	r.owed = kept
}

// patience waits for what is still expected at the end.
func (r *run) patience(until time.Duration) {
	if r.hard.End != nil {
		r.owed = append(r.owed, &step{at: until, do: func(r *run) error { return r.stateIs(r.hard.End) }})
		r.settle()
	}
	for len(r.owed) > 0 && r.result.Violation == nil {
		until += look
		r.result.Violation = r.w.Run(until)
		r.settle()
	}
}
