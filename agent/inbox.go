package agent

import "sync"

// inbox is the unbounded queue of functions that the loop calls. post never blocks: the runtime may report from within
// a call made by the loop.
type inbox struct {
	wake  func() // called after post
	mu    sync.Mutex
	items []func()
}

func (i *inbox) post(f func()) {
	i.mu.Lock()
	i.items = append(i.items, f)
	i.mu.Unlock()
	i.wake()
}

// process calls the posted functions and reports whether there were any.
func (i *inbox) process() bool {
	i.mu.Lock()
	items := i.items
	i.items = nil
	i.mu.Unlock()
	for _, f := range items {
		f()
	}
	return len(items) > 0
}
