package workqueue

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Stepper runs a state machine in one goroutine: it calls the machine's step function with new events and at the
// times that the machine requested. Create it with NewStepper.
type Stepper[E any] struct {
	clock  clock.Clock
	mu     sync.Mutex
	events []E
	notify chan struct{}
}

// NewStepper returns a Stepper without events.
func NewStepper[E any](c clock.Clock) *Stepper[E] {
	return &Stepper[E]{clock: c, notify: make(chan struct{}, 1)}
}

// Push appends events. It never blocks.
func (s *Stepper[E]) Push(events ...E) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

func (s *Stepper[E]) take() []E {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.notify:
	default:
	}
	out := s.events
	s.events = nil
	return out
}

// Run calls step until ctx is done: immediately, then with all events that arrive within batchDelay of the first, and
// at the time that step returned. If that time is zero, only events trigger the next call.
func (s *Stepper[E]) Run(ctx context.Context, batchDelay time.Duration, step func(now time.Time, events []E) (wake time.Time)) {
	for {
		wake := step(s.clock.Now(), s.take())
		if !s.sleep(ctx, batchDelay, wake) {
			return
		}
	}
}

// sleep waits for events or for the wake time. It returns false if ctx is done.
func (s *Stepper[E]) sleep(ctx context.Context, batchDelay time.Duration, wake time.Time) bool {
	var due <-chan time.Time
	if !wake.IsZero() {
		t := s.clock.NewTimer(wake.Sub(s.clock.Now()))
		defer t.Stop()
		due = t.C()
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
		return true
	case <-s.notify:
	}
	select {
	case <-ctx.Done():
		return false
	case <-due:
	case <-s.clock.After(batchDelay):
	}
	return true
}
