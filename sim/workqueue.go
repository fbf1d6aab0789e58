package sim

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// WorkQueue reconciles keys, each in one run at a time, as controllers/workqueue does.
type WorkQueue[K comparable] struct {
	// Quiet reports whether nothing can have changed for the keys that reconcile requeues, so that they need not be
	// processed before they are added again. May be nil.
	Quiet func() bool

	c *Client
	// reconcile processes a key and calls done: the key is requeued after requeueAfter if that is not 0,
	// or with backoff after an error.
	reconcile func(key K, done func(requeueAfter time.Duration, err error))
	workers   int // maximum number of keys in process

	waiting    map[K]time.Time // when keys that were added with a delay become ready
	ready      []K             // in the order in which they became ready
	dirty      map[K]bool      // the keys in ready, and those that were added while being processed
	processing map[K]bool
	backoff    workqueue.TypedRateLimiter[K]
}

// NewWorkQueue returns an empty queue of an actor, which processes at most workers keys at a time. reconcile processes a
// key and calls done.
func NewWorkQueue[K comparable](c *Client, workers int, reconcile func(key K, done func(requeueAfter time.Duration, err error))) *WorkQueue[K] {
	q := &WorkQueue[K]{c: c, workers: workers, reconcile: reconcile}
	q.Reset()
	return q
}

// Delays after failures. baseRetryDelay is that of controllers; maxRetryDelay is shorter, so that a run settles.
const (
	baseRetryDelay = 5 * time.Millisecond
	maxRetryDelay  = 30 * time.Second
)

// Reset clears the queue.
func (q *WorkQueue[K]) Reset() {
	q.waiting, q.ready, q.dirty, q.processing = map[K]time.Time{}, nil, map[K]bool{}, map[K]bool{}
	q.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[K](baseRetryDelay, maxRetryDelay)
}

// Add enqueues a key after d. If a key is added several times, the earliest time applies.
func (q *WorkQueue[K]) Add(key K, d time.Duration) {
	if d <= 0 {
		q.enqueue(key)
		return
	}
	q.addAfter(key, d, func() bool { return false })
}

// addAfter enqueues a key after d unless quiet returns true then.
func (q *WorkQueue[K]) addAfter(key K, d time.Duration, quiet func() bool) {
	at := q.c.w.now.Add(d)
	if previous, ok := q.waiting[key]; ok && !previous.After(at) {
		return
	}
	q.waiting[key] = at
	q.c.After(d, func() {
		if due, ok := q.waiting[key]; ok && due.Equal(at) {
			delete(q.waiting, key)
			if !quiet() {
				q.enqueue(key)
			}
		}
	})
}

// enqueue makes a key ready. A key that is being processed becomes ready afterwards.
func (q *WorkQueue[K]) enqueue(key K) {
	if q.dirty[key] {
		return
	}
	q.dirty[key] = true
	if !q.processing[key] {
		q.ready = append(q.ready, key)
		q.c.After(0, q.processNext)
	}
}

// processNext processes the first ready key if a worker is free.
func (q *WorkQueue[K]) processNext() {
	if len(q.ready) == 0 || len(q.processing) >= q.workers {
		return
	}
	key := q.ready[0]
	q.ready = q.ready[1:]
	delete(q.dirty, key)
	q.processing[key] = true
	q.reconcile(key, func(requeueAfter time.Duration, err error) {
		delete(q.processing, key)
		if q.dirty[key] {
			q.ready = append(q.ready, key)
		}
		switch {
		case err != nil && q.c.w.lostRetries[q.c.name]:
		case err != nil:
			q.Add(key, q.backoff.When(key))
		case requeueAfter > 0 && q.Quiet != nil:
			q.addAfter(key, requeueAfter, q.Quiet)
		case requeueAfter > 0:
			q.Add(key, requeueAfter)
		}
		if err == nil {
			q.backoff.Forget(key)
		}
		if len(q.ready) > 0 {
			q.c.After(0, q.processNext)
		}
	})
}
