package sim

import "time"

// workQueue brings what keys name up to date, one run a key at a time, as controllers/workqueue does.
type workQueue struct {
	c *client
	// reconcile works on a key and says when it is done: again after a time, if that is not
	// 0, or after a growing pause, if there was an error.
	reconcile func(key string, done func(again time.Duration, err error))

	due        map[string]time.Time // the next run
	processing map[string]bool
	dirty      map[string]bool // was added while it was worked on
	failures   map[string]int
}

func newWorkQueue(c *client, step func(string, func(time.Duration, error))) *workQueue {
	l := &workQueue{c: c, reconcile: step}
	l.reset()
	return l
}

// reset drops everything, as a restart does.
func (l *workQueue) reset() {
	l.due, l.processing, l.dirty, l.failures = map[string]time.Time{}, map[string]bool{}, map[string]bool{}, map[string]int{}
}

// add has a key worked on after d, or sooner if it was to be anyway.
func (l *workQueue) add(key string, d time.Duration) {
	at := l.c.w.now.Add(d)
	if l.processing[key] && d == 0 {
		l.dirty[key] = true
		return
	}
	if was, ok := l.due[key]; ok && !was.After(at) {
		return
	}
	l.due[key] = at
	l.c.at(at, func() {
		if due, ok := l.due[key]; ok && due.Equal(at) {
			l.process(key)
		}
	})
}

// Pauses after errors.
const (
	minRetryDelay = 5 * time.Millisecond
	maxRetryDelay = 30 * time.Second
)

func (l *workQueue) process(key string) {
	delete(l.due, key)
	if l.processing[key] {
		l.dirty[key] = true
		return
	}
	l.processing[key] = true
	l.reconcile(key, func(again time.Duration, err error) {
		delete(l.processing, key)
		if err != nil {
			l.failures[key]++
			again = min(minRetryDelay<<min(l.failures[key], 20), maxRetryDelay)
		} else {
			delete(l.failures, key)
		}
		if l.dirty[key] && err == nil {
			again = 0
		}
		if again > 0 || l.dirty[key] {
			delete(l.dirty, key)
			l.add(key, again)
		}
	})
}
