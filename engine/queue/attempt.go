package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Next takes the pod that is to be tried now. When nobody is active, the head of the
// back-off is taken before its time, but never one that failed with an error.
// The pod is in flight until Reject, Fail, EnterGated or Remove.
func (q *Queue) Next(now time.Time) (Attempt, bool) {
	q.now = now
	q.mature(now)
	for {
		e := q.active.head()
		if e == nil {
			e = q.backoff.head()
		}
		if e == nil {
			return Attempt{}, false
		}
		q.take(e)
		if q.lulls(e) {
			continue
		}
		e.attempts++
		e.edited = false
		e.pool = InFlight
		q.inFlight++
		q.flight.took(e)
		return Attempt{Pod: e.Pod, Number: e.attempts, First: e.first}, true
	}
}

// lulls sends a probe back to sleep, without a decision, if what it was woken
// for is gone: others, who came before it, have taken the room.
func (q *Queue) lulls(e *entry) bool {
	g := e.probes
	if g == nil || g.anywhere {
		return false
	}
	kept := g.nodes[:0]
	for _, n := range g.nodes {
		may, also := g.kind.Still(g.rules, n)
		if may {
			kept = append(kept, n)
			continue
		}
		q.unschedulable.widen(g, also)
	}
	clear(g.nodes[len(kept):])
	g.nodes = kept
	if len(kept) > 0 {
		return false
	}
	if !e.same {
		if key, _ := q.kindOf(e.UID); key != g.key {
			q.pass(e)
			return false
		}
	}
	q.counts.Lulled++
	e.probes = nil
	q.joinAs(e, Unschedulable, g.rules, g.key, g.kind)
	g.close()
	return true
}

// Granted says that a pod in flight was given a node; it stays in flight.
func (q *Queue) Granted(uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.flight.landed(e)
	if e.flushed {
		q.counts.Flushed++
		e.flushed = false
	}
	q.pass(e)
}

// Alone says that what comes of a pod in flight says nothing of the others that it
// was woken for.
func (q *Queue) Alone(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.pass(e)
	}
}

// Reject takes back a pod that no node can take, with the rules that said so. If
// something that concerns them happened meanwhile, the pod only backs off; so does one that
// had been given a node already, since nobody knows what else is free now.
func (q *Queue) Reject(now time.Time, uid string, rules decision.RuleSet) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.now = now
	key, kind := q.kindOf(uid)
	undone, also := true, decision.RuleSet(0)
	if e.undecided {
		undone, also = q.flight.undone(e, kind, rules)
	}
	q.take(e)
	e.rejections++
	e.failures = 0
	e.entered, e.rules, e.flushed = now, rules, false
	if e.edited || undone {
		if e.probes != nil {
			e.probes.anywhere = true
		}
		q.ready(e, AttemptFailed)
		return
	}
	q.arrivals[Unschedulable][AttemptFailed]++
	g := q.joinAs(e, Unschedulable, rules|also, key, kind)
	if e.probes == g {
		e.probes = nil
		g.close()
		return
	}
	q.pass(e)
}

// Fail takes back a pod whose attempt ended in an error.
func (q *Queue) Fail(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.now = now
	q.take(e)
	e.failures++
	e.entered = now
	q.ready(e, AttemptFailed)
	q.pass(e)
}

// Activate makes a waiting pod active at once, whatever is left of its back-off.
// A gated pod stays where it is.
func (q *Queue) Activate(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != Active && e.pool != Unschedulable && e.pool != Backoff && e.pool != Errors {
		return
	}
	q.now = now
	if e.pool == Active { // as a probe it may be lulled; from now on it is tried for itself
		q.pass(e)
		return
	}
	q.take(e)
	q.pass(e)
	q.put(e, Active, ForceActivate)
}
