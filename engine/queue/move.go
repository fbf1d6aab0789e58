package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// enqueue adds e, which is in no pool, to a pool.
func (q *Queue) enqueue(e *entry, p Pool, c Cause) {
	q.incoming[p][c]++
	switch p {
	case Active:
		q.active.push(e)
	case Backoff:
		q.backoff.push(e)
	case ErrorBackoff:
		q.errorBackoff.push(e)
	case Unschedulable, Gated:
		q.addToGroup(e, p, e.plugins)
	}
	e.pool = p
}

// addToGroup adds e, which is in no pool, to its group. plugins become the plugins that reject
// the whole group.
func (q *Queue) addToGroup(e *entry, p Pool, plugins decision.PluginSet) *group {
	key, hints := q.hintsOf(e.UID)
	if p == Gated {
		key = any(e.UID)
		if hints.EventsToRegister(plugins) == decision.NoEvent {
			key = plugins // gated pods without events can share a group
		}
	}
	return q.addToGroupOf(e, p, plugins, key, hints)
}

func (q *Queue) addToGroupOf(e *entry, p Pool, plugins decision.PluginSet, key any, hints QueueingHints) *group {
	pool := &q.unschedulable
	if p == Gated {
		pool = &q.gated
	}
	e.pool, e.flushed = p, false // flushed is set again if the timeout applies again
	g := pool.groupOf(key, hints)
	pool.setPlugins(g, plugins)
	pool.add(e, g)
	q.scheduleFlush(q.now)
	return g
}

func (q *Queue) dequeue(e *entry) {
	switch e.pool {
	case Active:
		q.active.remove(e)
	case Backoff:
		q.backoff.remove(e)
	case ErrorBackoff:
		q.errorBackoff.remove(e)
	case Unschedulable:
		q.unschedulable.remove(e)
	case Gated:
		q.gated.remove(e)
	case InFlight:
		q.inFlight--
		q.events.podDone(e)
	}
	e.pool = NotQueued
}

// requeueWaiting moves e, removed from the unschedulable or gated pool, to the active or
// backoff pool.
func (q *Queue) requeueWaiting(e *entry, from Pool, c Cause) {
	if from == Gated { // a gated pod has not been tried, so it has no backoff
		e.timestamp = q.now
		q.enqueue(e, Active, c)
		return
	}
	q.moveToActiveOrBackoff(e, c)
}

// moveToActiveOrBackoff adds e, which is in no pool, to the active pool, or to a backoff
// pool if its backoff has not ended.
func (q *Queue) moveToActiveOrBackoff(e *entry, c Cause) {
	switch {
	case !q.cfg.startBackoff(e, q.now):
		q.enqueue(e, Active, c)
	case e.failures > 0:
		q.enqueue(e, ErrorBackoff, c)
	default:
		q.enqueue(e, Backoff, c)
	}
}

// flushDue moves pods whose backoff has ended to the active pool. Every FlushInterval it also
// requeues pods that exceeded MaxUnschedulableDuration.
func (q *Queue) flushDue(now time.Time) {
	for _, h := range []*heap{&q.backoff, &q.errorBackoff} {
		for e := h.head(); e != nil && !now.Before(e.window.Add(backoffWindow)); e = h.head() {
			q.dequeue(e)
			q.enqueue(e, Active, BackoffComplete)
		}
	}
	if q.nextFlush.IsZero() || now.Before(q.nextFlush) {
		return
	}
	cutoff := now.Add(-q.cfg.MaxUnschedulableDuration)
	for _, p := range []*pool{&q.unschedulable, &q.gated} {
		for _, e := range p.olderThan(cutoff) {
			from := e.pool
			e.flushed = true
			q.dequeue(e)
			q.requeueWaiting(e, from, UnschedulableTimeout)
		}
	}
	q.nextFlush = time.Time{}
	if q.unschedulable.size+q.gated.size > 0 {
		q.scheduleFlush(now)
	}
}

func (q *Queue) scheduleFlush(now time.Time) {
	if q.nextFlush.IsZero() {
		q.nextFlush = now.Add(q.cfg.FlushInterval)
	}
}

// NextWakeup returns when to call Pop next. That is now if Pop has a pod to return, and zero if
// only an event or a new pod can help.
func (q *Queue) NextWakeup(now time.Time) time.Time {
	if len(q.active.items)+len(q.backoff.items) > 0 {
		return now
	}
	wake := q.nextFlush
	if e := q.errorBackoff.head(); e != nil {
		if end := e.window.Add(backoffWindow); wake.IsZero() || end.Before(wake) {
			wake = end
		}
	}
	return wake
}
