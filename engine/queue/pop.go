package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Pop returns the next pod to schedule. If no pod is active, it pops the head of the
// backoff pool early, but never from the error backoff pool. The pod is in flight until
// RequeueUnschedulable, RequeueFailed, AddGated or Remove.
func (q *Queue) Pop(now time.Time) (QueuedPodInfo, bool) {
	q.now = now
	q.flushDue(now)
	for {
		e := q.active.head()
		if e == nil {
			e = q.backoff.head()
		}
		if e == nil {
			return QueuedPodInfo{}, false
		}
		q.dequeue(e)
		if q.dropStaleTrial(e) {
			continue
		}
		e.attempts++
		e.updated = false
		e.pool = InFlight
		q.inFlight++
		q.events.podPopped(e)
		return QueuedPodInfo{Pod: e.Pod, Attempts: e.attempts, FirstEnqueued: e.firstEnqueued}, true
	}
}

// dropStaleTrial returns a trial pod to its group without an attempt if other pods have taken
// the capacity that it was queued for. It reports whether it did.
func (q *Queue) dropStaleTrial(e *entry) bool {
	g := e.trialFor
	if g == nil || g.anyNode {
		return false
	}
	remaining := g.nodes[:0]
	for _, n := range g.nodes {
		fits, added := g.hints.MayFit(n)
		if fits {
			remaining = append(remaining, n)
			continue
		}
		q.unschedulable.addPlugins(g, added)
	}
	clear(g.nodes[len(remaining):])
	g.nodes = remaining
	if len(remaining) > 0 {
		return false
	}
	if !e.unchanged {
		if key, _ := q.hintsOf(e.UID); key != g.key {
			q.passTrial(e)
			return false
		}
	}
	q.counts.StaleWakeups++
	e.trialFor = nil
	q.addToGroupOf(e, Unschedulable, g.plugins, g.key, g.hints)
	g.endTrial()
	return true
}

// MarkAssumed records that a pod in flight was assumed on a node. The pod stays in flight.
func (q *Queue) MarkAssumed(uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.events.podDone(e)
	if e.flushed {
		q.counts.Flushed++
		e.flushed = false
	}
	q.passTrial(e)
}

// EndTrial separates a pod in flight from its group: the result of its attempt does not
// apply to the group.
func (q *Queue) EndTrial(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.passTrial(e)
	}
}

// RequeueUnschedulable returns a pod in flight that no node fits, with the plugins that rejected it. The pod only
// backs off if it was updated or assumed since Pop, or if an event since Pop may make it schedulable.
func (q *Queue) RequeueUnschedulable(now time.Time, uid string, plugins decision.PluginSet) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.now = now
	key, hints := q.hintsOf(uid)
	queue, added := true, decision.PluginSet(0)
	if e.inFlight {
		queue, added = q.events.hint(e, hints, plugins)
	}
	q.dequeue(e)
	e.rejections++
	e.failures = 0
	e.timestamp, e.plugins, e.flushed = now, plugins, false
	if e.updated || queue {
		if e.trialFor != nil {
			e.trialFor.anyNode = true
		}
		q.moveToActiveOrBackoff(e, AttemptFailed)
		return
	}
	q.incoming[Unschedulable][AttemptFailed]++
	g := q.addToGroupOf(e, Unschedulable, plugins|added, key, hints)
	if e.trialFor == g {
		e.trialFor = nil
		g.endTrial()
		return
	}
	q.passTrial(e)
}

// RequeueFailed returns a pod in flight whose attempt failed with an error.
func (q *Queue) RequeueFailed(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.now = now
	q.dequeue(e)
	e.failures++
	e.timestamp = now
	q.moveToActiveOrBackoff(e, AttemptFailed)
	q.passTrial(e)
}

// Activate moves a pod to the active pool at once, regardless of its backoff. It does
// nothing for gated pods and pods in flight.
func (q *Queue) Activate(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != Active && e.pool != Unschedulable && e.pool != Backoff && e.pool != ErrorBackoff {
		return
	}
	q.now = now
	if e.pool == Active { // Pop may drop a stale trial pod, but not an activated pod
		q.passTrial(e)
		return
	}
	q.dequeue(e)
	q.passTrial(e)
	q.enqueue(e, Active, ForceActivate)
}
