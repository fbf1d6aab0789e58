package sim

import "time"

// WorkQueue reconciles keys, each in one run at a time, as controllers/workqueue does.
type WorkQueue struct {
	c *Client
	// reconcile processes a key and calls done: the key is requeued after requeueAfter if that is not 0,
	// or with backoff after an error.
	reconcile func(key string, done func(requeueAfter time.Duration, err error))

	due        map[string]time.Time // next run
	processing map[string]bool
	dirty      map[string]bool // added while being processed
	failures   map[string]int
}

// NewWorkQueue returns an empty queue of an actor. reconcile processes a key and calls done.
func NewWorkQueue(c *Client, reconcile func(key string, done func(requeueAfter time.Duration, err error))) *WorkQueue {
	q := &WorkQueue{c: c, reconcile: reconcile}
	q.Reset()
	return q
}

// Reset clears the queue.
func (q *WorkQueue) Reset() {
	q.due, q.processing, q.dirty, q.failures = map[string]time.Time{}, map[string]bool{}, map[string]bool{}, map[string]int{}
}

// Add enqueues a key after d, or earlier if it is already due earlier.
func (q *WorkQueue) Add(key string, d time.Duration) {
	at := q.c.w.now.Add(d)
	if q.processing[key] && d == 0 {
		q.dirty[key] = true
		return
	}
	if previous, ok := q.due[key]; ok && !previous.After(at) {
		return
	}
	q.due[key] = at
	q.c.AtTime(at, func() {
		if due, ok := q.due[key]; ok && due.Equal(at) {
			q.process(key)
		}
	})
}

// The delay after n failures in a row is baseRetryDelay << n, but at most maxRetryDelay.
const (
	baseRetryDelay = 5 * time.Millisecond
	maxRetryDelay  = 30 * time.Second
)

func (q *WorkQueue) process(key string) {
	delete(q.due, key)
	if q.processing[key] {
		q.dirty[key] = true
		return
	}
	q.processing[key] = true
	q.reconcile(key, func(requeueAfter time.Duration, err error) {
		delete(q.processing, key)
		if err != nil {
			q.failures[key]++
			requeueAfter = min(baseRetryDelay<<min(q.failures[key], 20), maxRetryDelay)
		} else {
			delete(q.failures, key)
		}
		if q.dirty[key] && err == nil {
			requeueAfter = 0
		}
		if requeueAfter > 0 || q.dirty[key] {
			delete(q.dirty, key)
			q.Add(key, requeueAfter)
		}
	})
}
