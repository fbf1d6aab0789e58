package sim

import "time"

// stepper feeds a machine of production with what its actor hears, and calls it when it
// wants to be called, as controllers/workqueue does.
type stepper[E any] struct {
	c *client
	// step feeds the machine, has its effects carried out, and says when to be called again;
	// zero: when something happens.
	step func(now time.Time, events []E) time.Time

	events    []E
	scheduled bool
	wakeSeq   int // only the latest wake counts
}

// eventBatchWindow is how long events are gathered before they are checked.
const eventBatchWindow = 20 * time.Millisecond

func (s *stepper[E]) enqueue(e E) {
	s.events = append(s.events, e)
	s.schedule(eventBatchWindow)
}

// reset drops what was heard, as a restart does.
func (s *stepper[E]) reset() { s.events, s.scheduled = nil, false }

// schedule has a step made after d.
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
