package plugins

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
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

// run plans the moves. It returns false when the total limit of evictions has ended the run.
func (s *skewPlanner) run() bool {
	s.queues = map[*topologyDomain][]*descheduling.Pod{}
	for {
		d := s.largestDomain()
		if d == nil || d.size-s.constraint.smallestSize() <= int(s.constraint.MaxSkew) {
			return true
		}
		p := s.next(d)
		if p == nil {
			continue
		}
		from := s.round.NodeOf(p)
		switch s.round.Evict(s.constraint.candidate(s.round, p, d, s.all)) {
		case descheduling.Accepted:
			s.all.forEach(p, func(c *spreadConstraint) { c.podMoved(from, s.round.NodeOf(p)) })
		case descheduling.TotalLimit:
			return false
		}
	}
}

// largestDomain returns the largest domain with an untried pod.
func (s *skewPlanner) largestDomain() *topologyDomain {
	var best *topologyDomain
	for _, d := range s.constraint.domains {
		if q, opened := s.queues[d]; (best == nil || d.size > best.size) && (!opened || len(q) > 0) {
			best = d
		}
	}
	return best
}

// next returns the next pod to evict from a domain, or nil.
func (s *skewPlanner) next(d *topologyDomain) *descheduling.Pod {
	q, opened := s.queues[d]
	if !opened {
		q = slices.Clone(d.pods)
		slices.SortStableFunc(q, compareForPlan)
	}
	for len(q) > 0 {
		p := q[0]
		q = q[1:]
		if s.scope.Has(p) && s.round.Evictable(p) && s.round.PreEvictionFilter(p) {
			s.queues[d] = q
			return p
		}
	}
	s.queues[d] = nil
	return nil
}

// compareForPlan orders pods for a plan: those without node constraints first, then by
// CompareForEviction.
func compareForPlan(a, b *descheduling.Pod) int {
	return cmp.Or(
		order.TrueFirst(hasNodeConstraint(b), hasNodeConstraint(a)),
		descheduling.CompareForEviction(a, b))
}

// podMoved updates the domain sizes.
func (c *spreadConstraint) podMoved(from, to *descheduling.Node) {
	if d := c.domainOf(from); d != nil {
		d.size--
	}
	if d := c.domainOf(to); d != nil {
		d.size++
	}
}

// spreadGain returns the gain of a move: the squares of the two domains' sizes, summed over
// all constraints that count the pod. Each move decreases the total over all domains, so
// moves for different constraints cannot alternate endlessly.
func spreadGain(p *descheduling.Pod, from, to *descheduling.Node, constraints *constraintIndex) descheduling.Gain {
	out := descheduling.Gain{Metric: "sum of the squared pod counts of the two domains"}
	constraints.forEach(p, func(c *spreadConstraint) {
		a, b := c.domainOf(from), c.domainOf(to)
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
	x := &constraintIndex{byLabel: map[model.Label][]*spreadConstraint{}}
	for _, c := range all {
		if label, ok := requiredLabel(c.selector); ok {
			x.byLabel[label] = append(x.byLabel[label], c)
		} else {
			x.unindexed = append(x.unindexed, c)
		}
	}
	return x
}

// forEach calls fn for each constraint that counts p.
func (x *constraintIndex) forEach(p *descheduling.Pod, fn func(*spreadConstraint)) {
	apply := func(list []*spreadConstraint) {
		for _, c := range list {
			if c.selector.Matches(p.Labels) {
				fn(c)
			}
		}
	}
	for _, l := range p.Labels {
		apply(x.byLabel[l])
	}
	apply(x.unindexed)
}
