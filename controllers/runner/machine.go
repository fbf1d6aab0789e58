package runner

import (
	"context"
	"sync"
	"time"
)

// Machine runs a state machine. It calls the machine's step function with new events and at the times that the
// machine requests, never concurrently. Create it with NewMachine.
type Machine[E any] struct {
	batchDelay time.Duration
	queue      Queue[struct{}]

	mu     sync.Mutex
	events []E
}

// NewMachine adds a machine to a process. step is called when the process starts and at the time that the last call
// returned. Events that arrive within batchDelay of the first are passed in one call. If that time is zero, only events
// cause the next call.
func NewMachine[E any](p *Process, batchDelay time.Duration, step func(now time.Time, events []E) (wake time.Time)) *Machine[E] {
	m := &Machine[E]{batchDelay: batchDelay}
	m.queue = NewQueue(p, QueueOptions{Workers: 1}, func(context.Context, struct{}) (time.Duration, error) {
		wake := step(p.Now(), m.take())
		if wake.IsZero() {
			return 0, nil
		}
		return max(wake.Sub(p.Now()), 1), nil
	})
	m.queue.Add(struct{}{})
	return m
}

// Push appends events. It never blocks.
func (m *Machine[E]) Push(events ...E) {
	if len(events) == 0 {
		return
	}
	m.mu.Lock()
	m.events = append(m.events, events...)
	m.mu.Unlock()
	m.queue.AddAfter(struct{}{}, m.batchDelay)
}

func (m *Machine[E]) take() []E {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.events
	m.events = nil
	return out
}
