package queue

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
)

// hintsOf returns the hints of an entry.
func (t *referenceQueue) hintsOf(r *refEntry) (any, QueueingHints) {
	if t.cfg.QueueingHints == nil {
		return r.UID, alwaysQueue(t.cfg.EventsToRegister)
	}
	return t.cfg.QueueingHints(r.UID)
}

// addToGroup adds r to its group.
func (t *referenceQueue) addToGroup(r *refEntry, plugins decision.PluginSet) {
	key, k := t.hintsOf(r)
	if t.groups == nil {
		t.groups = map[any]*referenceGroup{}
	}
	c := t.groups[key]
	if c == nil {
		c = &referenceGroup{key: key, hints: k}
		t.groups[key] = c
	}
	c.plugins = plugins
	r.pool, r.group = Unschedulable, c
	t.scheduleFlush()
}

func (t *referenceQueue) requeueUnschedulable(now time.Time, uid string, plugins decision.PluginSet) {
	r := t.find(uid)
	if r == nil || r.pool != InFlight {
		return
	}
	t.now, r.timestamp = now, now
	r.rejections, r.failures, r.plugins = r.rejections+1, 0, plugins
	_, k := t.hintsOf(r)
	queue := r.assumed || r.edited
	if !queue && len(r.events) > 0 {
		queue, plugins = hintForEvents(r.events, k, plugins)
	}
	if queue {
		if r.probeFor != nil {
			r.probeFor.anyNode = true
		}
		t.moveToActiveOrBackoff(r)
		return
	}
	t.addToGroup(r, plugins)
	if r.probeFor == r.group && r.probeFor != nil {
		r.probeFor.endProbe()
		r.probeFor = nil
		return
	}
	t.passProbe(r)
}

// hintForEvents gets the hints for all events until no plugin is added.
func hintForEvents(events []decision.Delta, k QueueingHints, plugins decision.PluginSet) (bool, decision.PluginSet) {
	for changed := true; changed; {
		before := plugins
		for i := range events {
			if k.EventsToRegister(plugins)&events[i].Events == 0 {
				continue
			}
			hint, _, also := k.Hint(plugins, &events[i])
			if hint != decision.QueueSkip {
				return true, 0
			}
			plugins |= also
		}
		changed = before != plugins
	}
	return false, plugins
}

func (c *referenceGroup) endProbe() { c.probe, c.anyNode, c.nodes = nil, false, nil }

// members returns the unschedulable pods of a group in queue order.
func (t *referenceQueue) members(c *referenceGroup) []*refEntry {
	var out []*refEntry
	for _, r := range t.pods {
		if r.pool == Unschedulable && r.group == c {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *refEntry) int {
		if t.outranks(a, b) {
			return -1
		}
		return 1
	})
	return out
}

// passProbe makes another pod of the group the probe.
func (t *referenceQueue) passProbe(r *refEntry) {
	c := r.probeFor
	if c == nil {
		return
	}
	r.probeFor, c.probe = nil, nil
	t.startProbe(c)
}

func (t *referenceQueue) startProbe(c *referenceGroup) {
	if list := t.members(c); len(list) > 0 {
		c.probe, list[0].probeFor = list[0], c
		t.moveToActiveOrBackoff(list[0])
		return
	}
	c.endProbe()
	delete(t.groups, c.key)
}

// probeIsValid reports whether a probe may still fit; if not, it returns to its group.
func (t *referenceQueue) probeIsValid(r *refEntry) bool {
	c := r.probeFor
	if c == nil || c.anyNode {
		return true
	}
	c.nodes = slices.DeleteFunc(c.nodes, func(n string) bool {
		fits, also := c.hints.MayFit(c.plugins, n)
		c.plugins |= also
		return !fits
	})
	if len(c.nodes) > 0 {
		return true
	}
	r.probeFor = nil
	t.addToGroup(r, c.plugins)
	c.endProbe()
	return false
}

func (t *referenceQueue) handleEvent(now time.Time, d decision.Delta) {
	t.now = now
	for _, r := range t.pods {
		if r.pool == InFlight && !r.assumed {
			r.events = append(r.events, d)
		}
		if r.pool == Gated && t.cfg.EventsToRegister(r.plugins)&d.Events != 0 {
			t.requeueWaiting(r)
		}
	}
	for _, c := range t.groups {
		t.applyHint(c, &d)
	}
}

func (t *referenceQueue) applyHint(c *referenceGroup, d *decision.Delta) {
	if len(t.members(c)) == 0 && c.probe == nil || c.hints.EventsToRegister(c.plugins)&d.Events == 0 || c.probe != nil && c.anyNode {
		return
	}
	hint, node, also := c.hints.Hint(c.plugins, d)
	switch {
	case hint == decision.QueueSkip:
		c.plugins |= also
		return
	case hint == decision.QueueForAnyNode || len(c.nodes) == maxProbeNodes:
		c.anyNode = true
	case !slices.Contains(c.nodes, node):
		c.nodes = append(c.nodes, node)
	}
	if c.probe == nil {
		t.startProbe(c)
	}
}

// regroup assigns all pods to groups again.
func (t *referenceQueue) regroup(now time.Time) {
	t.now = now
	old := t.groups
	t.groups = nil
	plugins := map[*refEntry]decision.PluginSet{}
	for _, r := range t.pods {
		if r.pool == Unschedulable {
			plugins[r] = r.group.plugins
		}
	}
	open := map[any]bool{}
	for r, set := range plugins {
		probing := r.group.probe != nil
		t.addToGroup(r, set)
		if probing {
			open[r.group.key] = true
			r.group.anyNode = true
		}
	}
	for _, c := range old {
		if c.probe != nil {
			c.probe.probeFor = nil
		}
	}
	for key := range open {
		t.startProbe(t.groups[key])
	}
}
