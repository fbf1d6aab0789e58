package contextlock

import "context"

// Lock is a lock. It is not reentrant.
type Lock interface {
	// Lock acquires the lock. It returns the error of ctx if ctx ends first.
	Lock(ctx context.Context) error
	Unlock()
}

// mutex is a Lock for goroutines: a channel that is full while it is held.
type mutex chan struct{}

// New returns an unlocked Lock for goroutines.
func New() Lock { return make(mutex, 1) }

// Lock implements Lock.
func (m mutex) Lock(ctx context.Context) error {
	select {
	case m <- struct{}{}:
		return nil
	default:
	}
	select {
	case m <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock implements Lock.
func (m mutex) Unlock() { <-m }
