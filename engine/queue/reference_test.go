package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// referenceQueue is a simple implementation of Queue: one slice, everything recomputed
// from the history of each pod.
type referenceQueue struct {
	cfg       Config
	pods      []*refEntry
	groups    map[any]*referenceGroup
	nextFlush time.Time
	now       time.Time
}

// refEntry is a pod of a referenceQueue.
type refEntry struct {
	Pod
	pool       Pool
	timestamp  time.Time
	attempts   int
	rejections int
	failures   int
	plugins    decision.PluginSet
	events     []decision.Delta // events while the pod is in flight
	assumed    bool
	updated    bool
	group      *referenceGroup // in which the pod waits
	trialFor   *referenceGroup // that the pod is the trial pod of
}

// referenceGroup is the unschedulable pods of one group.
type referenceGroup struct {
	key     any
	hints   QueueingHints
	plugins decision.PluginSet
	trial   *refEntry
	anyNode bool
	nodes   []string
}

func (q *referenceQueue) find(uid string) *refEntry {
	for _, e := range q.pods {
		if e.UID == uid {
			return e
		}
	}
	return nil
}

func (q *referenceQueue) add(now time.Time, p Pod) {
	q.now = now
	if e := q.find(p.UID); e != nil {
		q.update(now, p, false)
		return
	}
	q.pods = append(q.pods, &refEntry{Pod: p, pool: Active, timestamp: now})
}

func (q *referenceQueue) addGated(now time.Time, p Pod, plugin decision.Plugin) {
	q.now = now
	e := q.find(p.UID)
	if e == nil {
		e = &refEntry{}
		q.pods = append(q.pods, e)
	}
	if e.pool == InFlight {
		e.attempts--
	}
	e.Pod, e.pool, e.timestamp, e.plugins, e.group = p, Gated, now, 1<<plugin, nil
	q.scheduleFlush()
	q.passTrial(e)
}

func (q *referenceQueue) scheduleFlush() {
	if q.nextFlush.IsZero() {
		q.nextFlush = q.now.Add(q.cfg.FlushInterval)
	}
}

func (q *referenceQueue) update(now time.Time, p Pod, requeue bool) {
	q.now = now
	e := q.find(p.UID)
	if e == nil {
		return
	}
	waiting := e.pool == Unschedulable || e.pool == Gated
	if requeue && !waiting {
		q.passTrial(e)
	}
	e.Pod = p
	if e.pool == Unschedulable && e.group.trial != nil {
		requeue = true
	}
	switch {
	case e.pool == InFlight:
		e.updated = e.updated || requeue
	case requeue && waiting:
		q.requeueWaiting(e)
	case e.pool == Unschedulable:
		q.addToGroup(e, e.plugins|e.group.plugins)
	case e.pool == Gated:
		q.scheduleFlush()
	}
}

func (q *referenceQueue) remove(uid string) {
	e := q.find(uid)
	if e == nil {
		return
	}
	q.pods = slices.DeleteFunc(q.pods, func(o *refEntry) bool { return o == e })
	q.passTrial(e)
}

// requeueWaiting moves e to another pool.
func (q *referenceQueue) requeueWaiting(e *refEntry) {
	if e.pool == Gated {
		e.pool, e.timestamp = Active, q.now
		return
	}
	q.moveToActiveOrBackoff(e)
}

func (q *referenceQueue) backoffEnd(e *refEntry) time.Time {
	n := e.rejections
	if e.failures > 0 {
		n = e.failures
	}
	d := q.cfg.InitialBackoff
	for range n - 1 {
		if d *= 2; d >= q.cfg.MaxBackoff {
			break
		}
	}
	if n == 0 || d == 0 {
		return time.Time{}
	}
	return e.timestamp.Add(min(d, q.cfg.MaxBackoff)).Truncate(time.Second).Add(time.Second)
}

func (q *referenceQueue) moveToActiveOrBackoff(e *refEntry) {
	e.group = nil
	switch {
	case !q.backoffEnd(e).After(q.now):
		e.pool = Active
	case e.failures > 0:
		e.pool = ErrorBackoff
	default:
		e.pool = Backoff
	}
}

func (q *referenceQueue) flushDue() {
	for _, e := range q.pods {
		if (e.pool == Backoff || e.pool == ErrorBackoff) && !q.backoffEnd(e).After(q.now) {
			e.pool = Active
		}
	}
	if q.nextFlush.IsZero() || q.nextFlush.After(q.now) {
		return
	}
	waiting := func(e *refEntry) bool { return e.pool == Unschedulable || e.pool == Gated }
	for _, e := range q.pods {
		if waiting(e) && !e.timestamp.Add(q.cfg.MaxUnschedulableDuration).After(q.now) {
			q.requeueWaiting(e)
		}
	}
	q.nextFlush = time.Time{}
	if slices.ContainsFunc(q.pods, waiting) {
		q.scheduleFlush()
	}
}

func (q *referenceQueue) pop(now time.Time) (QueuedPodInfo, bool) {
	q.now = now
	q.flushDue()
	for {
		var best *refEntry
		for _, e := range q.pods {
			if (e.pool == Active || e.pool == Backoff) && (best == nil || q.before(e, best)) {
				best = e
			}
		}
		if best == nil {
			return QueuedPodInfo{}, false
		}
		if !q.trialIsValid(best) {
			continue
		}
		best.pool, best.events, best.updated, best.assumed = InFlight, nil, false, false
		best.attempts++
		return QueuedPodInfo{Pod: best.Pod, Attempts: best.attempts}, true
	}
}

func (q *referenceQueue) before(a, b *refEntry) bool {
	if a.pool != b.pool {
		return a.pool == Active
	}
	if a.pool == Backoff {
		if c := q.backoffEnd(a).Compare(q.backoffEnd(b)); c != 0 {
			return c < 0
		}
	}
	return q.outranks(a, b)
}

func (q *referenceQueue) outranks(a, b *refEntry) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	if c := a.timestamp.Compare(b.timestamp); c != 0 {
		return c < 0
	}
	return a.Name < b.Name
}

func (q *referenceQueue) requeueFailed(now time.Time, uid string) {
	e := q.find(uid)
	if e == nil || e.pool != InFlight {
		return
	}
	q.now, e.timestamp = now, now
	e.failures++
	q.moveToActiveOrBackoff(e)
	q.passTrial(e)
}

func (q *referenceQueue) markAssumed(uid string) {
	if e := q.find(uid); e != nil && e.pool == InFlight {
		e.assumed = true
		q.passTrial(e)
	}
}

func (q *referenceQueue) activate(now time.Time, uid string) {
	if e := q.find(uid); e != nil && (e.pool == Active || e.pool == Unschedulable || e.pool == Backoff || e.pool == ErrorBackoff) {
		q.now = now
		e.pool, e.group = Active, nil
		q.passTrial(e)
	}
}

func (q *referenceQueue) nextWakeup(now time.Time) time.Time {
	wake := q.nextFlush
	for _, e := range q.pods {
		switch e.pool {
		case Active, Backoff:
			return now
		case ErrorBackoff:
			if end := q.backoffEnd(e); wake.IsZero() || end.Before(wake) {
				wake = end
			}
		}
	}
	return wake
}
