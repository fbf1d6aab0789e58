package queue

import "time"

// put enters e, which is nowhere, into a pool.
func (q *Queue) put(e *entry, p Pool, c Cause) {
	e.pool = p
	q.arrivals[p][c]++
	switch p {
	case Active:
		q.active.push(e)
	case Backoff:
		q.backoff.push(e)
	case Errors:
		q.errors.push(e)
	case Unschedulable:
		q.unschedulable.add(e, q.cfg.Cares)
	case Gated:
		q.gated.add(e, q.cfg.Cares)
	}
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
	}
	e.pool = Nowhere
}

// wake moves e out of the pool where it waits for a change.
func (q *Queue) wake(now time.Time, e *entry, c Cause) {
	gated := e.pool == Gated
	q.take(e)
	if gated { // it was never tried from here: there is nothing to back off from
		e.entered = now
		q.put(e, Active, c)
		return
	}
	q.ready(now, e, c)
}

// ready puts e, which is nowhere, where it is tried as soon as its back-off ends.
func (q *Queue) ready(now time.Time, e *entry, c Cause) {
	switch {
	case !q.cfg.backsOff(e, now):
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
	for _, e := range q.unschedulable.olderThan(old) {
		q.wake(now, e, Leftover)
	}
	for _, e := range q.gated.olderThan(old) {
		q.wake(now, e, Leftover)
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

// Depths are the numbers of pods by place.
type Depths struct{ Active, Backoff, Unschedulable, Gated, InFlight int }

// Depths counts the pods.
func (q *Queue) Depths() Depths {
	return Depths{Active: len(q.active.items), Backoff: len(q.backoff.items) + len(q.errors.items),
		Unschedulable: q.unschedulable.size, Gated: q.gated.size, InFlight: q.inFlight}
}

// Where says where a pod is.
func (q *Queue) Where(uid string) Pool {
	if e, ok := q.pods[uid]; ok {
		return e.pool
	}
	return Nowhere
}
