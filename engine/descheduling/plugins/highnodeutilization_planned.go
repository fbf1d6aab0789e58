package plugins

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
)

// planNodes empties each node completely or not at all, those with the fewest pods first. In a
// first pass no pod moves to any of them. In a second pass the nodes that could not be emptied
// may receive pods; a node that received one is not emptied.
func (e *nodeEmptier) planNodes(low []*nodeUsage) {
	podCount := map[*nodeUsage]int{}
	for _, l := range low {
		for _, p := range e.round.PodsOn(l.node) {
			if e.occupiesNode(p) {
				podCount[l]++
			}
		}
		e.exclude(l)
	}
	slices.SortStableFunc(low, func(a, b *nodeUsage) int { return cmp.Compare(podCount[a], podCount[b]) })
	var remaining []*nodeUsage
	for _, l := range low {
		if !e.emptyNode(l) {
			remaining = append(remaining, l)
		}
	}
	for _, l := range remaining {
		e.include(l)
	}
	received := map[*descheduling.Node]bool{}
	for _, l := range remaining {
		if received[l.node] {
			continue
		}
		before := len(e.round.Moves())
		e.exclude(l)
		if !e.emptyNode(l) {
			e.include(l)
		}
		for _, m := range e.round.Moves()[before:] {
			received[m.To] = true
		}
	}
	for _, l := range low {
		e.round.SetExcluded(l.node, false)
	}
}

func (e *nodeEmptier) exclude(l *nodeUsage) {
	e.excluded[l.node] = true
	e.round.SetExcluded(l.node, true)
}

// include reverts exclude.
func (e *nodeEmptier) include(l *nodeUsage) {
	delete(e.excluded, l.node)
	e.round.SetExcluded(l.node, false)
}

// emptyNode moves all pods off a node, or none, and reports whether the node is empty. The node remains a possible
// target meanwhile. A pod that the scheduler would place there again is not moved.
func (e *nodeEmptier) emptyNode(l *nodeUsage) bool {
	var victims []*descheduling.Pod
	for _, p := range e.round.PodsOn(l.node) {
		if !e.occupiesNode(p) {
			continue
		}
		if !e.round.Evictable(p) || !e.canEvict(p) {
			return false
		}
		victims = append(victims, p)
	}
	if len(victims) == 0 {
		return true
	}
	descheduling.SortForEviction(victims)
	e.round.SetExcluded(l.node, false)
	defer e.round.SetExcluded(l.node, true)
	return e.round.Atomically(func() bool {
		for _, p := range victims {
			if e.round.Evict(e.candidate(p, l)) != descheduling.Accepted {
				return false
			}
		}
		return true
	})
}

// occupiesNode reports whether a node with p is not empty. Pods that belong to the node,
// terminating ones, and those excluded by the policy do not count.
func (e *nodeEmptier) occupiesNode(p *descheduling.Pod) bool {
	return !p.Deleting && !p.Mirror && !p.Details.Static && !p.OwnedBy([]string{"DaemonSet"}) && e.removable(p)
}
