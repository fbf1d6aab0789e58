package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// put enters e, which is nowhere, into a pool.
func (q *Queue) put(e *entry, p Pool, c Cause) {
	q.arrivals[p][c]++
	switch p {
	case Active:
		q.active.push(e)
	case Backoff:
		q.backoff.push(e)
	case Errors:
		q.errors.push(e)
	case Unschedulable, Gated:
		q.join(e, p, e.rules)
	}
	e.pool = p
}

// join enters e, which is nowhere, into its group of a pool. The rules reject
// all of the group.
func (q *Queue) join(e *entry, p Pool, rules decision.RuleSet) *group {
	key, kind := q.kindOf(e.UID)
	if p == Gated {
		if key = any(e.UID); kind.Cares(rules) == decision.NoChange {
			key = rules // nothing tells them apart, as nothing but themselves can help
		}
	}
	return q.joinAs(e, p, rules, key, kind)
}

func (q *Queue) joinAs(e *entry, p Pool, rules decision.RuleSet, key any, kind Kind) *group {
	pool := &q.unschedulable
	if p == Gated {
		pool = &q.gated
	}
	e.pool, e.flushed = p, false // what wakes it next is why it is tried
	g := pool.groupOf(key, kind)
	pool.setRules(g, rules)
	pool.add(e, g)
	q.startFlush(q.now)
	return g
}

// take removes e from where it is.
func (q *Queue) take(e *entry) {
	switch e.pool {
	case Active:
		q.active.remove(e)
	case Backoff:
		q.backoff.remove(e)
	case Errors:
		q.errors.remove(e)
	case Unschedulable:
		q.unschedulable.remove(e)
	case Gated:
		q.gated.remove(e)
	case InFlight:
		q.inFlight--
		q.flight.landed(e)
	}
	e.pool = Nowhere
}

// wake moves e, which was taken from a pool where it waited for a change.
func (q *Queue) wake(e *entry, from Pool, c Cause) {
	if from == Gated { // it was never tried from there: there is nothing to back off from
		e.entered = q.now
		q.put(e, Active, c)
		return
	}
	q.ready(e, c)
}

// ready puts e, which is nowhere, where it is tried as soon as its back-off ends.
func (q *Queue) ready(e *entry, c Cause) {
	switch {
	case !q.cfg.backsOff(e, q.now):
		q.put(e, Active, c)
	case e.failures > 0:
		q.put(e, Errors, c)
	default:
		q.put(e, Backoff, c)
	}
}

// mature makes pods active whose back-off has ended, and leftovers.
func (q *Queue) mature(now time.Time) {
	for _, h := range []*heap{&q.backoff, &q.errors} {
		for e := h.head(); e != nil && !now.Before(e.window.Add(window)); e = h.head() {
			q.take(e)
			q.put(e, Active, BackoffComplete)
		}
	}
	if q.flush.IsZero() || now.Before(q.flush) {
		return
	}
	old := now.Add(-q.cfg.LeftoverAfter)
	for _, p := range []*pool{&q.unschedulable, &q.gated} {
		for _, e := range p.olderThan(old) {
			from := e.pool
			e.flushed = true
			q.take(e)
			q.wake(e, from, Leftover)
		}
	}
	q.flush = time.Time{}
	if q.unschedulable.size+q.gated.size > 0 {
		q.startFlush(now)
	}
}

func (q *Queue) startFlush(now time.Time) {
	if q.flush.IsZero() {
		q.flush = now.Add(q.cfg.FlushEvery)
	}
}

// Wake is when Next should be asked: now if it has a pod to give, zero if only
// a change or a new pod can help.
func (q *Queue) Wake(now time.Time) time.Time {
	if len(q.active.items)+len(q.backoff.items) > 0 {
		return now
	}
	wake := q.flush
	if e := q.errors.head(); e != nil {
		if end := e.window.Add(window); wake.IsZero() || end.Before(wake) {
			wake = end
		}
	}
	return wake
}
