package sim

import "time"

// stepper feeds a machine of production with what its actor hears, and calls it when it
// wants to be called, as control/loop does.
type stepper[E any] struct {
	c *client
	// step feeds the machine, has its effects carried out, and says when to be called again;
	// zero: when something happens.
	step func(now time.Time, events []E) time.Time

	events []E
	poked  bool
	alarm  int // only the latest wake counts
}

// gather is how long events are gathered before they are looked at.
const gather = 20 * time.Millisecond

func (s *stepper[E]) put(e E) {
	s.events = append(s.events, e)
	s.poke(gather)
}

// forget drops what was heard, as a restart does.
func (s *stepper[E]) forget() { s.events, s.poked = nil, false }

// poke has a step made after d.
func (s *stepper[E]) poke(d time.Duration) {
	if s.poked || !s.c.listed() {
		return
	}
	s.poked = true
	s.c.after(d, s.run)
}

func (s *stepper[E]) run() {
	events := s.events
	s.events, s.poked = nil, false
	wake := s.step(s.c.w.now, events)
	s.alarm++
	if wake.IsZero() {
		return
	}
	alarm := s.alarm
	s.c.at(wake, func() {
		if s.alarm == alarm {
			s.poke(0)
		}
	})
}
