package rebalance

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// evening plans moves from the fullest domain of a constraint until it is balanced or no pod of it can go.
type evening struct {
	round  *Round
	of     *spreadGroup
	groups *spreadGroups // all of the namespace
	scope  *Scope
	queues map[*crowd][]*Pod // who has not been tried
}

// run says false if the round is over.
func (e *evening) run() bool {
	e.queues = map[*crowd][]*Pod{}
	for {
		c := e.fullest()
		if c == nil || c.size-e.of.least() <= int(e.of.MaxSkew) {
			return true
		}
		p := e.next(c)
		if p == nil {
			continue
		}
		from := e.round.NodeOf(p)
		switch e.round.Evict(e.of.candidate(e.round, p, c, e.groups)) {
		case Went:
			e.groups.of(p, func(g *spreadGroup) { g.moved(from, e.round.NodeOf(p)) })
		case TotalLimit:
			return false
		}
	}
}

// fullest is the largest crowd of which somebody was not tried yet.
func (e *evening) fullest() *crowd {
	var best *crowd
	for _, c := range e.of.crowds {
		if q, opened := e.queues[c]; (best == nil || c.size > best.size) && (!opened || len(q) > 0) {
			best = c
		}
	}
	return best
}

// next takes the pod that had best go; nil: there is none.
func (e *evening) next(c *crowd) *Pod {
	q, opened := e.queues[c]
	if !opened {
		q = slices.Clone(c.pods)
		slices.SortStableFunc(q, goFirst)
	}
	for len(q) > 0 {
		p := q[0]
		q = q[1:]
		if e.scope.Has(p) && e.round.Evictable(p) && e.round.Fits(p) {
			e.queues[c] = q
			return p
		}
	}
	e.queues[c] = nil
	return nil
}

// goFirst orders pods for a plan: those that do not choose their nodes, then as victims go.
func goFirst(a, b *Pod) int {
	if c := compareBool(choosy(a), choosy(b)); c != 0 {
		return c
	}
	return CompareVictims(a, b)
}

// moved counts a pod where it went.
func (g *spreadGroup) moved(from, to *Node) {
	if c := g.crowdOf(from); c != nil {
		c.size--
	}
	if c := g.crowdOf(to); c != nil {
		c.size++
	}
}

// unevenness is the gain of a move: of the constraints that count the pod, the squares of the sizes of the two domains
// added up. As each move makes the sum over all domains less, no constraint is bettered at the cost of
// another for ever.
func unevenness(p *Pod, from, to *Node, groups *spreadGroups) Gain {
	out := Gain{Of: "sum of squares of the pods in the two domains"}
	groups.of(p, func(g *spreadGroup) {
		a, b := g.crowdOf(from), g.crowdOf(to)
		if a == nil || b == nil || a == b {
			return
		}
		x, y := int64(a.size), int64(b.size)
		out.Before += x*x + y*y
		out.After += (x-1)*(x-1) + (y+1)*(y+1)
	})
	return out
}

// spreadGroups finds the constraints that count a pod.
type spreadGroups struct {
	byLabel map[model.Label][]*spreadGroup // that count only pods with the label
	rest    []*spreadGroup
}

func indexGroups(all []*spreadGroup) *spreadGroups {
	s := &spreadGroups{byLabel: map[model.Label][]*spreadGroup{}}
	for _, g := range all {
		if label, one := exact(g.selector); one {
			s.byLabel[label] = append(s.byLabel[label], g)
		} else {
			s.rest = append(s.rest, g)
		}
	}
	return s
}

// of calls do for each that counts the pod.
func (s *spreadGroups) of(p *Pod, do func(*spreadGroup)) {
	try := func(list []*spreadGroup) {
		for _, g := range list {
			if g.selector.Matches(p.Labels) {
				do(g)
			}
		}
	}
	for _, l := range p.Labels {
		try(s.byLabel[l])
	}
	try(s.rest)
}
