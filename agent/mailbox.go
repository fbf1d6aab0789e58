package agent

import "sync"

// mailbox takes letters without ever blocking, since the runtime may report
// from within a call of the loop that empties it.
type mailbox[T any] struct {
	ready chan struct{}
	mu    sync.Mutex
	in    []T
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{ready: make(chan struct{}, 1)} }

func (m *mailbox[T]) put(letter T) {
	m.mu.Lock()
	m.in = append(m.in, letter)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

func (m *mailbox[T]) take() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := m.in
	m.in = nil
	return in
}
