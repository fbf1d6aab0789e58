package queue

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// Changed wakes the pods whose rejection a change can have undone: of each group
// one, and the others after it as long as nobody of them is rejected.
func (q *Queue) Changed(now time.Time, d decision.Delta) {
	if d.Kinds == decision.NoChange {
		return
	}
	q.now, q.delta = now, d
	told := &q.delta // kinds of pods see it by an interface: on the stack it would not stay
	q.flight.hear(told)
	if q.unschedulable.size > 0 || len(q.unschedulable.groups) > 0 {
		q.found = q.unschedulable.concerned(q.found[:0], d.Kinds)
		for _, g := range q.found {
			q.concern(g, told)
		}
	}
	if q.gated.size > 0 {
		q.found = q.gated.concerned(q.found[:0], d.Kinds)
		for _, g := range q.found {
			if help, _, _ := g.kind.Helps(g.rules, told); help != decision.Helpless {
				e := g.members.head()
				q.take(e)
				q.wake(e, Gated, causeOf(g.cares&d.Kinds, d.Action()))
			}
		}
	}
}

// concern asks a group what it makes of a change.
func (q *Queue) concern(g *group, d *decision.Delta) {
	if g.probe != nil && g.anywhere {
		return
	}
	help, node, also := g.kind.Helps(g.rules, d)
	if help == decision.Helpless {
		q.unschedulable.widen(g, also)
		return
	}
	g.hope(help, node)
	if g.probe == nil {
		g.cause = causeOf(g.cares&d.Kinds, d.Action())
		q.probe(g)
	}
}

// probe wakes the first pod of a group for all of them.
func (q *Queue) probe(g *group) {
	e := g.members.head()
	g.probe, e.probes, e.same = e, g, true
	q.take(e)
	q.ready(e, g.cause)
}

// pass is for when e cannot speak for its group any more: it got a node, failed,
// changed or is gone. The next one of the group is woken.
func (q *Queue) pass(e *entry) {
	g := e.probes
	if g == nil {
		return
	}
	e.probes, g.probe = nil, nil
	if g.members.head() == nil {
		g.close()
		q.unschedulable.tidy(g)
		return
	}
	q.probe(g)
}

// Regroup asks for everybody's kind anew: what makes pods equal has changed.
func (q *Queue) Regroup(now time.Time) {
	q.now = now
	old := q.unschedulable.groups
	q.unschedulable = newPool()
	var open []*group
	for _, g := range old {
		if g.probe != nil {
			g.probe.probes = nil
		}
		for _, e := range g.members.items {
			n := q.join(e, Unschedulable, g.rules)
			if g.probe != nil {
				n.cause, n.anywhere = g.cause, true
				open = append(open, n)
			}
		}
	}
	for _, g := range open {
		if g.probe == nil {
			q.probe(g)
		}
	}
}
