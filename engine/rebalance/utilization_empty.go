package rebalance

import (
	"cmp"
	"slices"
)

// plan empties nodes wholly or leaves them alone, those with the fewest pods first. In a first pass nothing goes to any
// of them; those that could not be emptied take in others in a second one, and a node that took a pod in stays.
func (e *emptying) plan(low []*level) {
	cost := map[*level]int{}
	for _, l := range low {
		for _, p := range e.round.PodsOn(l.node) {
			if e.occupies(p) {
				cost[l]++
			}
		}
		e.close(l)
	}
	slices.SortStableFunc(low, func(a, b *level) int { return cmp.Compare(cost[a], cost[b]) })
	var left []*level
	for _, l := range low {
		if !e.empty(l) {
			left = append(left, l)
		}
	}
	for _, l := range left {
		e.open(l)
	}
	host := map[*Node]bool{}
	for _, l := range left {
		if host[l.node] {
			continue
		}
		before := len(e.round.Moves())
		e.close(l)
		if !e.empty(l) {
			e.open(l)
		}
		for _, m := range e.round.Moves()[before:] {
			host[m.To] = true
		}
	}
	for _, l := range low {
		e.round.Close(l.node, false)
	}
}

// close has nothing go to a node, as it is to be emptied, or is; open lets pods come again.
func (e *emptying) close(l *level) {
	e.leaving[l.node] = true
	e.round.Close(l.node, true)
}

func (e *emptying) open(l *level) {
	delete(e.leaving, l.node)
	e.round.Close(l.node, false)
}

// empty moves all pods off a node, or none. It says whether the node is empty now. While it tries the node is open: a pod
// that the scheduler would rather have there than on a node that stays is left alone.
func (e *emptying) empty(l *level) bool {
	var victims []*Pod
	for _, p := range e.round.PodsOn(l.node) {
		if !e.occupies(p) {
			continue
		}
		if !e.round.Evictable(p) || !e.mayGo(p) {
			return false
		}
		victims = append(victims, p)
	}
	if len(victims) == 0 {
		return true
	}
	SortVictims(victims)
	e.round.Close(l.node, false)
	defer e.round.Close(l.node, true)
	return e.round.Together(func() bool {
		for _, p := range victims {
			if e.round.Evict(e.candidate(p, l)) != Went {
				return false
			}
		}
		return true
	})
}

// occupies says whether a node is not empty as long as a pod is on it. Pods that belong to the node do not count, nor
// those that are on their way out or that the policy spares for asking for nothing.
func (e *emptying) occupies(p *Pod) bool {
	return !p.Deleting && !p.Mirror && !p.Facts.Static && !p.OwnedBy([]string{"DaemonSet"}) && e.removable(p)
}
