package store

import (
	"context"
	"sync"
)

// keyedMutex is a mutex per key. The zero value has no locked key.
type keyedMutex struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when released
}

// lock locks the key, or returns an error when ctx is done first.
func (k *keyedMutex) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		wait, locked := k.held[key]
		if !locked {
			released := make(chan struct{})
			if k.held == nil {
				k.held = map[string]chan struct{}{}
			}
			k.held[key] = released
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, key)
				k.mu.Unlock()
				close(released)
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
