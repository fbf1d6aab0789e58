package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// HandleEvent passes a cluster event to the interested groups. For each group with a
// positive hint it selects a trial pod.
func (q *Queue) HandleEvent(now time.Time, d decision.Delta) {
	if d.Events == decision.NoEvent {
		return
	}
	q.now, q.delta = now, d
	delta := &q.delta // in a field, as a local variable would escape to the heap
	q.events.record(delta)
	if q.unschedulable.size > 0 || len(q.unschedulable.groups) > 0 {
		q.scratch = q.unschedulable.groupsFor(q.scratch[:0], d.Events)
		for _, g := range q.scratch {
			q.applyHint(g, delta)
		}
	}
	if q.gated.size > 0 {
		q.scratch = q.gated.groupsFor(q.scratch[:0], d.Events)
		for _, g := range q.scratch {
			if hint, _, _ := g.hints.Hint(g.plugins, delta); hint != decision.QueueSkip {
				e := g.members.head()
				q.dequeue(e)
				q.requeueWaiting(e, Gated, eventCause(g.events&d.Events, d.Action()))
			}
		}
	}
}

// applyHint applies the hint of a group for an event.
func (q *Queue) applyHint(g *group, d *decision.Delta) {
	if g.trial != nil && g.anyNode {
		return
	}
	hint, node, added := g.hints.Hint(g.plugins, d)
	if hint == decision.QueueSkip {
		q.unschedulable.addPlugins(g, added)
		return
	}
	g.addHint(hint, node)
	if g.trial == nil {
		g.cause = eventCause(g.events&d.Events, d.Action())
		q.startTrial(g)
	}
}

// startTrial makes the first pod of a group its trial pod.
func (q *Queue) startTrial(g *group) {
	e := g.members.head()
	g.trial, e.trialFor, e.unchanged = e, g, true
	q.dequeue(e)
	q.moveToActiveOrBackoff(e, g.cause)
}

// passTrial makes the next pod of a group the trial pod, because e was assumed, failed,
// changed or was removed.
func (q *Queue) passTrial(e *entry) {
	g := e.trialFor
	if g == nil {
		return
	}
	e.trialFor, g.trial = nil, nil
	if g.members.head() == nil {
		g.endTrial()
		q.unschedulable.dropIfEmpty(g)
		return
	}
	q.startTrial(g)
}

// Regroup assigns all unschedulable pods to groups again. Call it when keys of
// QueueingHints may have changed.
func (q *Queue) Regroup(now time.Time) {
	q.now = now
	old := q.unschedulable.groups
	q.unschedulable = newPool()
	var withTrial []*group
	for _, g := range old {
		if g.trial != nil {
			g.trial.trialFor = nil
		}
		for _, e := range g.members.items {
			regrouped := q.addToGroup(e, Unschedulable, g.plugins)
			if g.trial != nil {
				regrouped.cause, regrouped.anyNode = g.cause, true
				withTrial = append(withTrial, regrouped)
			}
		}
	}
	for _, g := range withTrial {
		if g.trial == nil {
			q.startTrial(g)
		}
	}
}
