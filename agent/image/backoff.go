package image

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// backoff remembers failed pulls: each further failure of a pod's image doubles the pause
// before the next try. One without a failure for twice the longest pause is forgotten.
type backoff struct {
	mu    sync.Mutex
	items map[attempt]*failure
}

// attempt is what failures are counted of.
type attempt struct {
	pod   types.UID
	image string
}

type failure struct {
	last  time.Time
	pause time.Duration
	why   string
}

// waits says until when a pull is to wait, and what went wrong last.
func (b *backoff) waits(a attempt, now time.Time) (until time.Time, why string, wait bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := b.items[a]
	if f == nil || !now.Before(f.last.Add(f.pause)) {
		return time.Time{}, "", false
	}
	return f.last.Add(f.pause), f.why, true
}

// failed notes a failure.
func (b *backoff) failed(a attempt, why string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items == nil {
		b.items = map[attempt]*failure{}
	}
	for k, f := range b.items {
		if now.Sub(f.last) > 2*maxPause {
			delete(b.items, k)
		}
	}
	f := b.items[a]
	if f == nil {
		f = &failure{pause: firstPause / 2}
		b.items[a] = f
	}
	f.last, f.pause, f.why = now, min(2*f.pause, maxPause), why
}
