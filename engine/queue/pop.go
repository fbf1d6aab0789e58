package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Pop takes the pod that is to be tried now. When nobody is active, the head of the
// back-off is taken before its time, but never one that failed with an error.
// The pod is in flight until Reject, Fail, EnterGated or Remove.
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
		if q.dropStaleProbe(e) {
			continue
		}
		e.attempts++
		e.edited = false
		e.pool = InFlight
		q.inFlight++
		q.events.podPopped(e)
		return QueuedPodInfo{Pod: e.Pod, Attempts: e.attempts, FirstEnqueued: e.firstEnqueued}, true
	}
}

// dropStaleProbe sends a probe back to sleep, without a decision, if what it was woken
// for is gone: others, who came before it, have taken the room.
func (q *Queue) dropStaleProbe(e *entry) bool {
	g := e.probeFor
	if g == nil || g.anyNode {
		return false
	}
	kept := g.nodes[:0]
	for _, n := range g.nodes {
		may, also := g.hints.MayFit(g.plugins, n)
		if may {
			kept = append(kept, n)
			continue
		}
		q.unschedulable.addPlugins(g, also)
	}
	clear(g.nodes[len(kept):])
	g.nodes = kept
	if len(kept) > 0 {
		return false
	}
	if !e.unchanged {
		if key, _ := q.hintsOf(e.UID); key != g.key {
			q.passProbe(e)
			return false
		}
	}
	q.counts.StaleWakeups++
	e.probeFor = nil
	q.addToGroupOf(e, Unschedulable, g.plugins, g.key, g.hints)
	g.endProbe()
	return true
}

// MarkAssumed says that a pod in flight was given a node; it stays in flight.
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
	q.passProbe(e)
}

// EndProbe says that what comes of a pod in flight says nothing of the others that it
// was woken for.
func (q *Queue) EndProbe(uid string) {
	if e, ok := q.pods[uid]; ok {
		q.passProbe(e)
	}
}

// RequeueUnschedulable takes back a pod that no node can take, with the rules that said so. If
// something that concerns them happened meanwhile, the pod only backs off; so does one that
// had been given a node already, since nobody knows what else is free now.
func (q *Queue) RequeueUnschedulable(now time.Time, uid string, plugins decision.PluginSet) {
	e, ok := q.pods[uid]
	if !ok || e.pool != InFlight {
		return
	}
	q.now = now
	key, kind := q.hintsOf(uid)
	queue, also := true, decision.PluginSet(0)
	if e.inFlight {
		queue, also = q.events.hint(e, kind, plugins)
	}
	q.dequeue(e)
	e.rejections++
	e.failures = 0
	e.timestamp, e.plugins, e.flushed = now, plugins, false
	if e.edited || queue {
		if e.probeFor != nil {
			e.probeFor.anyNode = true
		}
		q.moveToActiveOrBackoff(e, AttemptFailed)
		return
	}
	q.incoming[Unschedulable][AttemptFailed]++
	g := q.addToGroupOf(e, Unschedulable, plugins|also, key, kind)
	if e.probeFor == g {
		e.probeFor = nil
		g.endProbe()
		return
	}
	q.passProbe(e)
}

// RequeueFailed takes back a pod whose attempt ended in an error.
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
	q.passProbe(e)
}

// Activate makes a waiting pod active at once, whatever is left of its back-off.
// A gated pod stays where it is.
func (q *Queue) Activate(now time.Time, uid string) {
	e, ok := q.pods[uid]
	if !ok || e.pool != Active && e.pool != Unschedulable && e.pool != Backoff && e.pool != ErrorBackoff {
		return
	}
	q.now = now
	if e.pool == Active { // as a probe it may be lulled; from now on it is tried for itself
		q.passProbe(e)
		return
	}
	q.dequeue(e)
	q.passProbe(e)
	q.enqueue(e, Active, ForceActivate)
}
