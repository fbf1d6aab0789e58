package plugins

import (
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// podEvictor evicts pods from nodes one by one, for both utilization strategies.
type podEvictor struct {
	*usageReader
	round              *descheduling.Round
	excludedNamespaces []string
	// removable reports whether the strategy may evict an evictable pod.
	removable func(*descheduling.Pod) bool
	// perNode limits the evictions per node; nil means unlimited.
	perNode *int
	// isDone reports whether a node needs no further evictions.
	isDone    func(*nodeUsage) bool
	candidate func(p *descheduling.Pod, l *nodeUsage) *descheduling.Candidate
	// usages are the usages of all nodes, updated with each move; nil if not needed.
	usages map[*descheduling.Node]*nodeUsage

	// Without a plan, two values stand for the scheduler. They are the free capacity of all
	// destinations together, and the taint sets of the destinations, one of which a pod must
	// tolerate.
	free   []int64
	taints [][]model.Taint
}

func newPodEvictor(r *descheduling.Round, m *usageReader, destinations []*nodeUsage) *podEvictor {
	s := &podEvictor{usageReader: m, round: r, free: make([]int64, len(m.resources))}
	for _, l := range destinations {
		for i := range s.free {
			s.free[i] += l.limit[i] - l.used[i]
		}
		if !slices.ContainsFunc(s.taints, func(t []model.Taint) bool { return slices.Equal(t, l.node.Taints) }) {
			s.taints = append(s.taints, l.node.Taints)
		}
	}
	return s
}

// trackUsage keeps usages up to date from now on.
func (s *podEvictor) trackUsage(all []*nodeUsage) {
	s.usages = make(map[*descheduling.Node]*nodeUsage, len(all))
	for _, l := range all {
		s.usages[l.node] = l
	}
}

// removablePods returns the pods of a node that may be evicted, in eviction order.
func (s *podEvictor) removablePods(l *nodeUsage) []*descheduling.Pod {
	var out []*descheduling.Pod
	for _, p := range s.round.PodsOn(l.node) {
		if s.round.Evictable(p) && s.removable(p) {
			out = append(out, p)
		}
	}
	descheduling.SortForEviction(out)
	return out
}

// evictFrom proposes pods of a node until the node needs no further evictions or reaches a limit.
// It returns false if the run has reached its total limit.
func (s *podEvictor) evictFrom(l *nodeUsage, victims []*descheduling.Pod) bool {
	evicted := 0
	for _, p := range victims {
		if s.shouldStop(l) || s.perNode != nil && evicted >= *s.perNode {
			return true
		}
		uses, measured := s.podUsage(p)
		if !measured || !s.canEvict(p) {
			continue
		}
		switch s.round.Evict(s.candidate(p, l)) {
		case descheduling.Accepted:
			evicted++
			s.podMoved(p, l, uses)
		case descheduling.NodeLimit:
			return true
		case descheduling.TotalLimit:
			return false
		}
	}
	return true
}

// shouldStop reports whether a node needs no further evictions or, without a plan, whether the
// destinations are full.
func (s *podEvictor) shouldStop(l *nodeUsage) bool {
	if s.isDone(l) {
		return true
	}
	return !s.round.Planned() && slices.ContainsFunc(s.free, func(n int64) bool { return n <= 0 })
}

// canEvict reports whether the namespace of p is not excluded and PreEvictionFilter allows the
// eviction. Without a plan, p must also tolerate the taints of a destination.
func (s *podEvictor) canEvict(p *descheduling.Pod) bool {
	return !slices.Contains(s.excludedNamespaces, p.Namespace) && s.round.PreEvictionFilter(p) &&
		(s.round.Planned() || slices.ContainsFunc(s.taints, func(t []model.Taint) bool { return toleratesAll(p, t) }))
}

// toleratesAll reports whether p tolerates taints of any effect. As in the Kubernetes
// descheduler, a pod with fewer tolerations than there are taints does not.
func toleratesAll(p *descheduling.Pod, taints []model.Taint) bool {
	return len(p.Spec.Tolerations) >= len(taints) &&
		descheduling.ToleratesTaints(p, &descheduling.Node{Node: &model.Node{Taints: taints}}, func(*model.Taint) bool { return true })
}

// podMoved updates the usages and the free capacity after a move.
func (s *podEvictor) podMoved(p *descheduling.Pod, from *nodeUsage, uses []int64) {
	for i, n := range uses {
		s.free[i] -= n
		if s.usages == nil {
			continue
		}
		from.used[i] -= n
		if to := s.usages[s.round.NodeOf(p)]; to != nil {
			to.used[i] += n
		}
	}
}
