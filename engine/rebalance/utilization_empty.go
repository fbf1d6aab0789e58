package rebalance

// plan empties nodes wholly or leaves them alone. In a first pass nothing goes to any of them; those that could
// not be emptied take in others in a second one, and a node that took a pod in stays.
func (e *emptying) plan(low []*level) {
	var left []*level
	for _, l := range low {
		if !e.empty(l) {
			left = append(left, l)
		}
	}
	for _, l := range left {
		delete(e.leaving, l.node)
	}
	host := map[*Node]bool{}
	for _, l := range left {
		if host[l.node] {
			continue
		}
		before := len(e.round.Moves())
		e.leaving[l.node] = true
		if !e.empty(l) {
			delete(e.leaving, l.node)
		}
		for _, m := range e.round.Moves()[before:] {
			host[m.To] = true
		}
	}
}

// empty moves all pods off a node, or none. It says whether the node is empty now.
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
