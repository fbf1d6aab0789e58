package cluster

import "time"

// stepper passes events to a state machine and calls it when it is due.
type stepper[E any] struct {
	c *client
	// step passes the events to the machine, executes its effects and returns when to call it
	// again; zero means after an event.
	step func(now time.Time, events []E) time.Time

	events    []E
	scheduled bool
	wakeSeq   int // invalidates earlier wake-ups
}

// eventBatchWindow is how long events are collected before a step.
const eventBatchWindow = 20 * time.Millisecond

func (s *stepper[E]) enqueue(e E) {
	s.events = append(s.events, e)
	s.schedule(eventBatchWindow)
}

// reset drops pending events.
func (s *stepper[E]) reset() { s.events, s.scheduled = nil, false }

// schedule schedules a step after d.
func (s *stepper[E]) schedule(d time.Duration) {
	if s.scheduled || !s.c.synced() {
		return
	}
	s.scheduled = true
	s.c.after(d, s.run)
}

func (s *stepper[E]) run() {
	events := s.events
	s.events, s.scheduled = nil, false
	wake := s.step(s.c.w.now, events)
	s.wakeSeq++
	if wake.IsZero() {
		return
	}
	alarm := s.wakeSeq
	s.c.at(wake, func() {
		if s.wakeSeq == alarm {
			s.schedule(0)
		}
	})
}
