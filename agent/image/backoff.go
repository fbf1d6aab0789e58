package image

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// pullBackoff tracks failed pulls. Each further failure for a pod and image doubles the delay.
// Entries without a failure for twice the maximum delay are dropped.
type pullBackoff struct {
	mu    sync.Mutex
	items map[backoffKey]*failure
}

// backoffKey identifies a backoff entry.
type backoffKey struct {
	pod   types.UID
	image string
}

// failure is the last failure of a pull, and the backoff after it.
type failure struct {
	last    time.Time
	delay   time.Duration
	message string
}

// active returns the end of the backoff and the last failure message. ok is false if there is
// no backoff.
func (b *pullBackoff) active(key backoffKey, now time.Time) (until time.Time, message string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.items[key]
	if f == nil || !now.Before(f.last.Add(f.delay)) {
		return time.Time{}, "", false
	}
	return f.last.Add(f.delay), f.message, true
}

// addFailure doubles the backoff, and removes expired ones.
func (b *pullBackoff) addFailure(key backoffKey, message string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items == nil {
		b.items = map[backoffKey]*failure{}
	}
	for k, f := range b.items {
		if now.Sub(f.last) > 2*maxBackoff {
			delete(b.items, k)
		}
	}
	f := b.items[key]
	if f == nil {
		f = &failure{delay: initialBackoff / 2}
		b.items[key] = f
	}
	f.last, f.delay, f.message = now, min(2*f.delay, maxBackoff), message
}
