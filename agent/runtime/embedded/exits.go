package embedded

import "context"

// Exits calls handle with the ID of each container that exits, until ctx ends.
func (r *Runtime) Exits(ctx context.Context, handle func(container string)) {
	exits := make(chan string, 1024)
	r.mu.Lock()
	r.lastSubscriber++
	n := r.lastSubscriber
	r.subscribers[n] = exits
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, n)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-exits:
			handle(id)
		}
	}
}

// publishExit sends the ID of a container that has exited to all subscribers. A slow subscriber loses
// some.
func (r *Runtime) publishExit(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, subscriber := range r.subscribers {
		select {
		case subscriber <- id:
		default:
		}
	}
}
