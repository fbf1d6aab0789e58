package sim

import "time"

// Stepper passes events to a state machine and calls it when it is due.
type Stepper[E any] struct {
	c *Client
	// step passes the events to the machine, executes its effects and returns when to call it
	// again; zero means only after an event.
	step func(now time.Time, events []E) time.Time

	events    []E
	scheduled bool
	wakeSeq   int // invalidates earlier wake-ups
}

// NewStepper returns a Stepper for the machine of an actor. See Stepper.step.
func NewStepper[E any](c *Client, step func(now time.Time, events []E) time.Time) *Stepper[E] {
	return &Stepper[E]{c: c, step: step}
}

// eventBatchWindow is how long events are collected before a step.
const eventBatchWindow = 20 * time.Millisecond

// Enqueue adds an event and schedules a step.
func (s *Stepper[E]) Enqueue(e E) {
	s.events = append(s.events, e)
	s.Schedule(eventBatchWindow)
}

// Reset drops pending events.
func (s *Stepper[E]) Reset() { s.events, s.scheduled = nil, false }

// Schedule schedules a step after d, unless one is scheduled or the actor is not synced.
func (s *Stepper[E]) Schedule(d time.Duration) {
	if s.scheduled || !s.c.IsSynced() {
		return
	}
	s.scheduled = true
	s.c.After(d, s.run)
}

func (s *Stepper[E]) run() {
	events := s.events
	s.events, s.scheduled = nil, false
	wake := s.step(s.c.w.now, events)
	s.wakeSeq++
	if wake.IsZero() {
		return
	}
	seq := s.wakeSeq
	s.c.AtTime(wake, func() {
		if s.wakeSeq == seq {
			s.Schedule(0)
		}
	})
}
