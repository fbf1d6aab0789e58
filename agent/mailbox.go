package agent

import "sync"

// mailbox is an unbounded queue. put never blocks, because the runtime may report from within a
// call made by the loop that drains the queue.
type mailbox[T any] struct {
	ready chan struct{}
	mu    sync.Mutex
	items []T
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{ready: make(chan struct{}, 1)} }

func (m *mailbox[T]) put(item T) {
	m.mu.Lock()
	m.items = append(m.items, item)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// each calls f for all items and removes them.
func (m *mailbox[T]) each(f func(T)) {
	for _, item := range m.drain() {
		f(item)
	}
}

func (m *mailbox[T]) drain() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items = nil
	return items
}
