package sim

import "time"

// loop brings what keys name up to date, one run a key at a time, as control/loop does.
type loop struct {
	c *client
	// step works on a key and says when it is done: again after a time, if that is not
	// 0, or after a growing pause, if there was an error.
	step func(key string, done func(again time.Duration, err error))

	due    map[string]time.Time // the next run
	busy   map[string]bool
	dirty  map[string]bool // was added while it was worked on
	failed map[string]int
}

func newLoop(c *client, step func(string, func(time.Duration, error))) *loop {
	l := &loop{c: c, step: step}
	l.forget()
	return l
}

// forget drops everything, as a restart does.
func (l *loop) forget() {
	l.due, l.busy, l.dirty, l.failed = map[string]time.Time{}, map[string]bool{}, map[string]bool{}, map[string]int{}
}

// add has a key worked on after d, or sooner if it was to be anyway.
func (l *loop) add(key string, d time.Duration) {
	at := l.c.w.now.Add(d)
	if l.busy[key] && d == 0 {
		l.dirty[key] = true
		return
	}
	if was, ok := l.due[key]; ok && !was.After(at) {
		return
	}
	l.due[key] = at
	l.c.at(at, func() {
		if due, ok := l.due[key]; ok && due.Equal(at) {
			l.run(key)
		}
	})
}

// Pauses after errors.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 30 * time.Second
)

func (l *loop) run(key string) {
	delete(l.due, key)
	if l.busy[key] {
		l.dirty[key] = true
		return
	}
	l.busy[key] = true
	l.step(key, func(again time.Duration, err error) {
		delete(l.busy, key)
		if err != nil {
			l.failed[key]++
			again = min(firstPause<<min(l.failed[key], 20), lastPause)
		} else {
			delete(l.failed, key)
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
