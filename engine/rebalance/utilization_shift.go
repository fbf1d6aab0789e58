package rebalance

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// shift takes pods off nodes one after another, as both utilization strategies do.
type shift struct {
	*meter
	round    *Round
	excluded []string // namespaces
	// removable says of a pod that the evictor lets go whether the strategy takes it.
	removable func(*Pod) bool
	// perNode is how many pods a node may lose; nil: any number.
	perNode *int
	// done says whether a node has lost enough.
	done func(*level) bool
	// candidate makes one.
	candidate func(p *Pod, l *level) *Candidate
	// levels are those of all nodes, kept as pods go; nil: nobody asks.
	levels map[*Node]*level

	// What follows stands for the scheduler where there is no plan: what the destinations together have free, and
	// their taints, of which a pod must bear those of one.
	free   []int64
	taints [][]model.Taint
}

func newShift(r *Round, m *meter, destinations []*level) *shift {
	s := &shift{meter: m, round: r, free: make([]int64, len(m.resources))}
	for _, l := range destinations {
		for i := range s.free {
			s.free[i] += l.room[i] - l.used[i]
		}
		if !slices.ContainsFunc(s.taints, func(t []model.Taint) bool { return slices.Equal(t, l.node.Taints) }) {
			s.taints = append(s.taints, l.node.Taints)
		}
	}
	return s
}

// track keeps levels as pods go.
func (s *shift) track(all []*level) {
	s.levels = make(map[*Node]*level, len(all))
	for _, l := range all {
		s.levels[l.node] = l
	}
}

// victims are the pods of a node that may go, in the order in which they had better.
func (s *shift) victims(l *level) []*Pod {
	var out []*Pod
	for _, p := range s.round.PodsOn(l.node) {
		if s.round.Evictable(p) && s.removable(p) {
			out = append(out, p)
		}
	}
	SortVictims(out)
	return out
}

// take proposes pods of a node until it has lost enough. It says false if the round is over.
func (s *shift) take(l *level, victims []*Pod) bool {
	gone := 0
	for _, p := range victims {
		if s.over(l) || s.perNode != nil && gone >= *s.perNode {
			return true
		}
		uses, measured := s.of(p)
		if !measured || !s.mayGo(p) {
			continue
		}
		switch s.round.Evict(s.candidate(p, l)) {
		case Went:
			gone++
			s.went(p, l, uses)
		case NodeLimit:
			return true
		case TotalLimit:
			return false
		}
	}
	return true
}

// over says whether a node need lose no more, or, without a plan, whether the room elsewhere is spent.
func (s *shift) over(l *level) bool {
	if s.done(l) {
		return true
	}
	return !s.round.Planned() && slices.ContainsFunc(s.free, func(n int64) bool { return n <= 0 })
}

// mayGo says whether a pod is of a namespace that may lose some, and would find a place as far as can be told.
func (s *shift) mayGo(p *Pod) bool {
	return !contains(s.excluded, p.Namespace) && s.round.Fits(p) &&
		(s.round.Planned() || slices.ContainsFunc(s.taints, func(t []model.Taint) bool { return bearsAll(p, t) }))
}

// bearsAll says whether a pod bears taints of whatever effect. As the Kubernetes descheduler has it, it does not if it
// has fewer tolerations than there are taints.
func bearsAll(p *Pod, taints []model.Taint) bool {
	return len(p.Spec.Tolerations) >= len(taints) &&
		Bears(p, &Node{Node: &model.Node{Taints: taints}}, func(*model.Taint) bool { return true })
}

// went moves what a pod uses from its node to where it went, or takes it off what is free.
func (s *shift) went(p *Pod, from *level, uses []int64) {
	for i, n := range uses {
		s.free[i] -= n
		if s.levels == nil {
			continue
		}
		from.used[i] -= n
		if to := s.levels[s.round.NodeOf(p)]; to != nil {
			to.used[i] += n
		}
	}
}
