package workqueue

import (
	"context"
	"sync"
	"time"
)

// Stepper calls a machine's step with what happened and when the machine has asked for it, in
// one goroutine. Its zero value is not ready; see NewStepper.
type Stepper[E any] struct {
	mu     sync.Mutex
	events []E
	notify chan struct{}
}

// NewStepper is a Stepper without events.
func NewStepper[E any]() *Stepper[E] { return &Stepper[E]{notify: make(chan struct{}, 1)} }

// Push tells of events. It never blocks.
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

// Run calls step until ctx ends: at once, then whenever there are events, with all of them, but after a pause in which more may
// come, and at the time that step returned; zero: not before there are events.
func (s *Stepper[E]) Run(ctx context.Context, pause time.Duration, reconcile func(now time.Time, events []E) (wake time.Time)) {
	for {
		wake := reconcile(time.Now(), s.take())
		if !s.sleep(ctx, pause, wake) {
			return
		}
	}
}

// sleep waits for events or for a time; it is false when ctx has ended.
func (s *Stepper[E]) sleep(ctx context.Context, pause time.Duration, wake time.Time) bool {
	var due <-chan time.Time
	if !wake.IsZero() {
		t := time.NewTimer(time.Until(wake))
		defer t.Stop()
		due = t.C
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
	case <-time.After(pause):
	}
	return true
}
