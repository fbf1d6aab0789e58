package plugins

import (
	"cmp"
	"github.com/berthproject/berth/engine/descheduling"
	"slices"
)

// planNodes empties nodes wholly or leaves them alone, those with the fewest pods first. In a first pass nothing goes to any
// of them; those that could not be emptied take in others in a second one, and a node that took a pod in stays.
func (e *nodeEmptier) planNodes(low []*nodeUsage) {
	cost := map[*nodeUsage]int{}
	for _, l := range low {
		for _, p := range e.round.PodsOn(l.node) {
			if e.occupiesNode(p) {
				cost[l]++
			}
		}
		e.exclude(l)
	}
	slices.SortStableFunc(low, func(a, b *nodeUsage) int { return cmp.Compare(cost[a], cost[b]) })
	var left []*nodeUsage
	for _, l := range low {
		if !e.emptyNode(l) {
			left = append(left, l)
		}
	}
	for _, l := range left {
		e.include(l)
	}
	host := map[*descheduling.Node]bool{}
	for _, l := range left {
		if host[l.node] {
			continue
		}
		before := len(e.round.Moves())
		e.exclude(l)
		if !e.emptyNode(l) {
			e.include(l)
		}
		for _, m := range e.round.Moves()[before:] {
			host[m.To] = true
		}
	}
	for _, l := range low {
		e.round.SetExcluded(l.node, false)
	}
}

// exclude has nothing go to a node, as it is to be emptied, or is; open lets pods come again.
func (e *nodeEmptier) exclude(l *nodeUsage) {
	e.excluded[l.node] = true
	e.round.SetExcluded(l.node, true)
}

func (e *nodeEmptier) include(l *nodeUsage) {
	delete(e.excluded, l.node)
	e.round.SetExcluded(l.node, false)
}

// emptyNode moves all pods off a node, or none. It says whether the node is empty now. While it tries the node is open: a pod
// that the scheduler would rather have there than on a node that stays is left alone.
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

// occupiesNode says whether a node is not empty as long as a pod is on it. Pods that belong to the node do not count, nor
// those that are on their way out or that the policy spares for asking for nothing.
func (e *nodeEmptier) occupiesNode(p *descheduling.Pod) bool {
	return !p.Deleting && !p.Mirror && !p.Details.Static && !p.OwnedBy([]string{"DaemonSet"}) && e.removable(p)
}
