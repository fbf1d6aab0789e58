package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

func (q *referenceQueue) hintsOf(e *refEntry) (any, QueueingHints) {
	if q.cfg.QueueingHints == nil {
		return e.UID, alwaysQueue(q.cfg.EventsToRegister)
	}
	return q.cfg.QueueingHints(e.UID)
}

func (q *referenceQueue) addToGroup(e *refEntry, plugins decision.PluginSet) {
	key, hints := q.hintsOf(e)
	if q.groups == nil {
		q.groups = map[any]*referenceGroup{}
	}
	g := q.groups[key]
	if g == nil {
		g = &referenceGroup{key: key, hints: hints}
		q.groups[key] = g
	}
	g.plugins = plugins
	e.pool, e.group = Unschedulable, g
	q.scheduleFlush()
}

func (q *referenceQueue) requeueUnschedulable(now time.Time, uid string, plugins decision.PluginSet) {
	e := q.find(uid)
	if e == nil || e.pool != InFlight {
		return
	}
	q.now, e.timestamp = now, now
	e.rejections, e.failures, e.plugins = e.rejections+1, 0, plugins
	_, hints := q.hintsOf(e)
	queue := e.assumed || e.updated
	if !queue && len(e.events) > 0 {
		queue, plugins = hintForEvents(e.events, hints, plugins)
	}
	if queue {
		if e.trialFor != nil {
			e.trialFor.anyNode = true
		}
		q.moveToActiveOrBackoff(e)
		return
	}
	q.addToGroup(e, plugins)
	if e.trialFor == e.group && e.trialFor != nil {
		e.trialFor.endTrial()
		e.trialFor = nil
		return
	}
	q.passTrial(e)
}

// hintForEvents reports whether the hint for one of the events is positive. If not, it
// returns the rejecting plugins with those that the hints added.
func hintForEvents(events []decision.Delta, hints QueueingHints, plugins decision.PluginSet) (bool, decision.PluginSet) {
	for changed := true; changed; {
		before := plugins
		for i := range events {
			if hints.EventsToRegister(plugins)&events[i].Events == 0 {
				continue
			}
			hint, _, added := hints.Hint(plugins, &events[i])
			if hint != decision.QueueSkip {
				return true, 0
			}
			plugins |= added
		}
		changed = before != plugins
	}
	return false, plugins
}

func (g *referenceGroup) endTrial() { g.trial, g.anyNode, g.nodes = nil, false, nil }

// members returns the unschedulable pods of a group in queue order.
func (q *referenceQueue) members(g *referenceGroup) []*refEntry {
	var out []*refEntry
	for _, e := range q.pods {
		if e.pool == Unschedulable && e.group == g {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *refEntry) int {
		if q.outranks(a, b) {
			return -1
		}
		return 1
	})
	return out
}

// passTrial makes another pod of the group the trial pod.
func (q *referenceQueue) passTrial(e *refEntry) {
	g := e.trialFor
	if g == nil {
		return
	}
	e.trialFor, g.trial = nil, nil
	q.startTrial(g)
}

func (q *referenceQueue) startTrial(g *referenceGroup) {
	if members := q.members(g); len(members) > 0 {
		g.trial, members[0].trialFor = members[0], g
		q.moveToActiveOrBackoff(members[0])
		return
	}
	g.endTrial()
	delete(q.groups, g.key)
}

// trialIsValid reports whether a trial pod may still fit; if not, it returns to its group.
func (q *referenceQueue) trialIsValid(e *refEntry) bool {
	g := e.trialFor
	if g == nil || g.anyNode {
		return true
	}
	g.nodes = slices.DeleteFunc(g.nodes, func(n string) bool {
		fits, added := g.hints.MayFit(n)
		g.plugins |= added
		return !fits
	})
	if len(g.nodes) > 0 {
		return true
	}
	e.trialFor = nil
	q.addToGroup(e, g.plugins)
	g.endTrial()
	return false
}

func (q *referenceQueue) handleEvent(now time.Time, d decision.Delta) {
	q.now = now
	for _, e := range q.pods {
		if e.pool == InFlight && !e.assumed {
			e.events = append(e.events, d)
		}
		if e.pool == Gated && q.cfg.EventsToRegister(e.plugins)&d.Events != 0 {
			q.requeueWaiting(e)
		}
	}
	for _, g := range q.groups {
		q.applyHint(g, &d)
	}
}

func (q *referenceQueue) applyHint(g *referenceGroup, d *decision.Delta) {
	if len(q.members(g)) == 0 && g.trial == nil || g.hints.EventsToRegister(g.plugins)&d.Events == 0 || g.trial != nil && g.anyNode {
		return
	}
	hint, node, added := g.hints.Hint(g.plugins, d)
	switch {
	case hint == decision.QueueSkip:
		g.plugins |= added
		return
	case hint == decision.QueueForAnyNode || len(g.nodes) == maxTrialNodes:
		g.anyNode = true
	case !slices.Contains(g.nodes, node):
		g.nodes = append(g.nodes, node)
	}
	if g.trial == nil {
		q.startTrial(g)
	}
}

// regroup assigns all pods to groups again.
func (q *referenceQueue) regroup(now time.Time) {
	q.now = now
	old := q.groups
	q.groups = nil
	plugins := map[*refEntry]decision.PluginSet{}
	for _, e := range q.pods {
		if e.pool == Unschedulable {
			plugins[e] = e.group.plugins
		}
	}
	withTrial := map[any]bool{}
	for e, set := range plugins {
		hasTrial := e.group.trial != nil
		q.addToGroup(e, set)
		if hasTrial {
			withTrial[e.group.key] = true
			e.group.anyNode = true
		}
	}
	for _, g := range old {
		if g.trial != nil {
			g.trial.trialFor = nil
		}
	}
	for key := range withTrial {
		q.startTrial(q.groups[key])
	}
}
