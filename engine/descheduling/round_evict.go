package descheduling

// evictionCounts are the evictions counted against the limits.
type evictionCounts struct {
	node      map[*Node]int
	namespace map[string]int
}

func newEvictionCounts() evictionCounts {
	return evictionCounts{node: map[*Node]int{}, namespace: map[string]int{}}
}

// Evict proposes a candidate that passed Evictable and PreEvictionFilter. A refused candidate
// does not count against the limits.
func (r *Round) Evict(c *Candidate) Outcome {
	l := &r.Policy.Limits
	switch {
	case limitReached(l.Total, len(r.moves)):
		return r.reportLimit(c, TotalLimit)
	case limitReached(l.PerNode, r.evicted.node[c.Node]):
		return r.reportLimit(c, NodeLimit)
	case limitReached(l.PerNamespace, r.evicted.namespace[c.Pod.Namespace]):
		return r.reportLimit(c, NamespaceLimit)
	}
	to, ok := r.mover.Move(r.strategy, r.Profile.Name, c)
	if !ok {
		return Refused
	}
	m := Move{Profile: r.Profile.Name, Strategy: r.strategy, Candidate: c, To: to}
	m.fromBefore = r.nodePods.contents[c.Node]
	if to != nil {
		m.toBefore = r.nodePods.contents[to]
	}
	r.nodePods.move(c.Pod, c.Node, to)
	r.addToCounts(&m, 1)
	r.moves = append(r.moves, m)
	return Accepted
}

// reportLimit reports a reached limit to a LimitObserver.
func (r *Round) reportLimit(c *Candidate, o Outcome) Outcome {
	if l, ok := r.mover.(LimitObserver); ok {
		l.LimitReached(r.strategy, r.Profile.Name, c, o)
	}
	return o
}

// addToCounts counts a move; delta is -1 to undo it.
func (r *Round) addToCounts(m *Move, delta int) {
	r.evicted.node[m.Node] += delta
	r.evicted.namespace[m.Pod.Namespace] += delta
	if m.To == nil {
		r.cache.uncountReplica(m.Pod, delta)
	}
}

func limitReached(limit *int, n int) bool { return limit != nil && n >= *limit }

// Atomically runs propose, which proposes candidates that are only useful together. If it
// returns false and the Mover can withdraw moves, its moves are undone. It reports whether the
// moves are kept.
func (r *Round) Atomically(propose func() bool) bool {
	restore, ok := r.mover.Checkpoint()
	if !ok {
		propose()
		return true
	}
	before := len(r.moves)
	if propose() {
		return true
	}
	restore()
	for i := len(r.moves) - 1; i >= before; i-- {
		m := &r.moves[i]
		if m.To != nil {
			r.nodePods.contents[m.To] = m.toBefore
		}
		r.nodePods.contents[m.Node] = m.fromBefore
		delete(r.nodePods.moved, m.Pod)
		r.addToCounts(m, -1)
	}
	r.moves = r.moves[:before]
	return false
}
