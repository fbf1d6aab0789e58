package rebalance

// counts are what the limits are held against.
type counts struct {
	node      map[*Node]int
	namespace map[string]int
}

func newCounts() counts {
	return counts{node: map[*Node]int{}, namespace: map[string]int{}}
}

// Evict proposes that a candidate leaves. It has been found Evictable and to Fit by the strategy. What is refused
// counts towards no limit.
func (r *Round) Evict(c *Candidate) Outcome {
	l := &r.Policy.Limits
	switch {
	case reached(l.Total, len(r.moves)):
		return r.limited(c, TotalLimit)
	case reached(l.PerNode, r.limits.node[c.Node]):
		return r.limited(c, NodeLimit)
	case reached(l.PerNamespace, r.limits.namespace[c.Pod.Namespace]):
		return r.limited(c, NamespaceLimit)
	}
	to, ok := r.mover.Move(r.strategy, r.Profile.Name, c)
	if !ok {
		return Refused
	}
	m := Move{Profile: r.Profile.Name, Strategy: r.strategy, Candidate: c, To: to}
	m.wasFrom = r.view.places[c.Node]
	if to != nil {
		m.wasTo = r.view.places[to]
	}
	r.view.move(c.Pod, c.Node, to)
	r.count(&m, 1)
	r.moves = append(r.moves, m)
	return Went
}

// limited tells a Mover that wants to know of a limit that was reached.
func (r *Round) limited(c *Candidate, o Outcome) Outcome {
	if l, wants := r.mover.(Limiter); wants {
		l.Limited(r.strategy, r.Profile.Name, c, o)
	}
	return o
}

// count books a move, or with -1 takes it back.
func (r *Round) count(m *Move, by int) {
	r.limits.node[m.Node] += by
	r.limits.namespace[m.Pod.Namespace] += by
	if m.To == nil {
		r.facts.left(m.Pod, by)
	}
}

func reached(limit *int, n int) bool { return limit != nil && n >= *limit }

// Together runs what proposes several candidates that make sense only together. If it returns false and the Mover can
// withdraw moves, those made in it are: the round is as it was before. It returns whether the moves stand.
func (r *Round) Together(propose func() bool) bool {
	restore, can := r.mover.Save()
	if !can {
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
			r.view.places[m.To] = m.wasTo
		}
		r.view.places[m.Node] = m.wasFrom
		delete(r.view.moved, m.Pod)
		r.count(m, -1)
	}
	r.moves = r.moves[:before]
	return false
}
