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
	l := &WorkQueue{c: c, reconcile: reconcile}
	l.Reset()
	return l
}

// Reset clears the queue.
func (l *WorkQueue) Reset() {
	l.due, l.processing, l.dirty, l.failures = map[string]time.Time{}, map[string]bool{}, map[string]bool{}, map[string]int{}
}

// Add enqueues a key after d, or earlier if it is already due earlier.
func (l *WorkQueue) Add(key string, d time.Duration) {
	at := l.c.w.now.Add(d)
	if l.processing[key] && d == 0 {
		l.dirty[key] = true
		return
	}
	if previous, ok := l.due[key]; ok && !previous.After(at) {
		return
	}
	l.due[key] = at
	l.c.AtTime(at, func() {
		if due, ok := l.due[key]; ok && due.Equal(at) {
			l.process(key)
		}
	})
}

// Retry backoff.
const (
	minRetryDelay = 5 * time.Millisecond
	maxRetryDelay = 30 * time.Second
)

func (l *WorkQueue) process(key string) {
	delete(l.due, key)
	if l.processing[key] {
		l.dirty[key] = true
		return
	}
	l.processing[key] = true
	l.reconcile(key, func(requeueAfter time.Duration, err error) {
		delete(l.processing, key)
		if err != nil {
			l.failures[key]++
			requeueAfter = min(minRetryDelay<<min(l.failures[key], 20), maxRetryDelay)
		} else {
			delete(l.failures, key)
		}
		if l.dirty[key] && err == nil {
			requeueAfter = 0
		}
		if requeueAfter > 0 || l.dirty[key] {
			delete(l.dirty, key)
			l.Add(key, requeueAfter)
		}
	})
}
