package store

import (
	"context"
	"sync"
)

// keyed is a lock for each key.
type keyed struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when it is free
}

// lock waits for the key, until ctx ends, and returns how to unlock it.
func (k *keyed) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		wait, taken := k.busy[key]
		if !taken {
			free := make(chan struct{})
			if k.busy == nil {
				k.busy = map[string]chan struct{}{}
			}
			k.busy[key] = free
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.busy, key)
				k.mu.Unlock()
				close(free)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
