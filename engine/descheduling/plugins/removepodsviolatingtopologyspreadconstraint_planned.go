package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// skewPlanner plans moves from the largest domain of a constraint until it is balanced or no
// pod can move.
type skewPlanner struct {
	round      *descheduling.Round
	constraint *spreadConstraint
	all        *constraintIndex // of the namespace
	scope      *descheduling.Scope
	queues     map[*topologyDomain][]*descheduling.Pod // untried pods
}

// run plans the moves. It returns false when the round has ended.
func (e *skewPlanner) run() bool {
	e.queues = map[*topologyDomain][]*descheduling.Pod{}
	for {
		c := e.largestDomain()
		if c == nil || c.size-e.constraint.smallestSize() <= int(e.constraint.MaxSkew) {
			return true
		}
		p := e.next(c)
		if p == nil {
			continue
		}
		from := e.round.NodeOf(p)
		switch e.round.Evict(e.constraint.candidate(e.round, p, c, e.all)) {
		case descheduling.Accepted:
			e.all.forEach(p, func(g *spreadConstraint) { g.podMoved(from, e.round.NodeOf(p)) })
		case descheduling.TotalLimit:
			return false
		}
	}
}

// largestDomain returns the largest domain with an untried pod.
func (e *skewPlanner) largestDomain() *topologyDomain {
	var best *topologyDomain
	for _, c := range e.constraint.domains {
		if q, opened := e.queues[c]; (best == nil || c.size > best.size) && (!opened || len(q) > 0) {
			best = c
		}
	}
	return best
}

// next returns the next pod to evict from a domain, or nil.
func (e *skewPlanner) next(c *topologyDomain) *descheduling.Pod {
	q, opened := e.queues[c]
	if !opened {
		q = slices.Clone(c.pods)
		slices.SortStableFunc(q, compareForPlan)
	}
	for len(q) > 0 {
		p := q[0]
		q = q[1:]
		if e.scope.Has(p) && e.round.Evictable(p) && e.round.PreEvictionFilter(p) {
			e.queues[c] = q
			return p
		}
	}
	e.queues[c] = nil
	return nil
}

// compareForPlan orders pods for a plan: those without node constraints first, then by
// CompareForEviction.
func compareForPlan(a, b *descheduling.Pod) int {
	if c := compareBool(hasNodeConstraint(a), hasNodeConstraint(b)); c != 0 {
		return c
	}
	return descheduling.CompareForEviction(a, b)
}

// podMoved updates the domain sizes.
func (g *spreadConstraint) podMoved(from, to *descheduling.Node) {
	if c := g.domainOf(from); c != nil {
		c.size--
	}
	if c := g.domainOf(to); c != nil {
		c.size++
	}
}

// spreadGain returns the gain of a move: the squares of the two domains' sizes, summed over
// all constraints that count the pod. Each move decreases the total over all domains, so
// constraints cannot alternately worsen each other forever.
func spreadGain(p *descheduling.Pod, from, to *descheduling.Node, groups *constraintIndex) descheduling.Gain {
	out := descheduling.Gain{Metric: "sum of squares of the pods in the two domains"}
	groups.forEach(p, func(g *spreadConstraint) {
		a, b := g.domainOf(from), g.domainOf(to)
		if a == nil || b == nil || a == b {
			return
		}
		x, y := int64(a.size), int64(b.size)
		out.Before += x*x + y*y
		out.After += (x-1)*(x-1) + (y+1)*(y+1)
	})
	return out
}

// constraintIndex finds the constraints that count a pod.
type constraintIndex struct {
	byLabel   map[model.Label][]*spreadConstraint // that require the label
	unindexed []*spreadConstraint
}

func newConstraintIndex(all []*spreadConstraint) *constraintIndex {
	s := &constraintIndex{byLabel: map[model.Label][]*spreadConstraint{}}
	for _, g := range all {
		if label, ok := requiredLabel(g.selector); ok {
			s.byLabel[label] = append(s.byLabel[label], g)
		} else {
			s.unindexed = append(s.unindexed, g)
		}
	}
	return s
}

// forEach calls fn for each constraint that counts p.
func (s *constraintIndex) forEach(p *descheduling.Pod, fn func(*spreadConstraint)) {
	apply := func(list []*spreadConstraint) {
		for _, g := range list {
			if g.selector.Matches(p.Labels) {
				fn(g)
			}
		}
	}
	for _, l := range p.Labels {
		apply(s.byLabel[l])
	}
	apply(s.unindexed)
}
