package embedded

import (
	"context"

	"github.com/berthproject/berth/agent/runtime"
)

// Events calls handle for each exit of a container until ctx ends.
func (r *Runtime) Events(ctx context.Context, handle func(runtime.ContainerEvent)) error {
	events := make(chan runtime.ContainerEvent, 1024)
	r.mu.Lock()
	r.lastSubscriber++
	n := r.lastSubscriber
	r.subscribers[n] = events
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subscribers, n)
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-events:
			handle(e)
		}
	}
}

// publish sends an event to all subscribers. A slow subscriber loses events.
func (r *Runtime) publish(e runtime.ContainerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, subscriber := range r.subscribers {
		select {
		case subscriber <- e:
		default:
		}
	}
}
