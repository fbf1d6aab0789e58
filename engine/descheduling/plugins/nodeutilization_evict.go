package plugins

import (
	"github.com/berthproject/berth/engine/descheduling"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// podEvictor takes pods off nodes one after another, as both utilization strategies do.
type podEvictor struct {
	*usageReader
	round              *descheduling.Round
	excludedNamespaces []string // namespaces
	// removable says of a pod that the evictor lets go whether the strategy takes it.
	removable func(*descheduling.Pod) bool
	// perNode is how many pods a node may lose; nil: any number.
	perNode *int
	// isDone says whether a node has lost enough.
	isDone func(*nodeUsage) bool
	// candidate makes one.
	candidate func(p *descheduling.Pod, l *nodeUsage) *descheduling.Candidate
	// usages are those of all nodes, kept as pods go; nil: nobody asks.
	usages map[*descheduling.Node]*nodeUsage

	// What follows stands for the scheduler where there is no plan: what the destinations together have free, and
	// their taints, of which a pod must bear those of one.
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

// trackUsage keeps levels as pods go.
func (s *podEvictor) trackUsage(all []*nodeUsage) {
	s.usages = make(map[*descheduling.Node]*nodeUsage, len(all))
	for _, l := range all {
		s.usages[l.node] = l
	}
}

// removablePods are the pods of a node that may go, in the order in which they had better.
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

// evictFrom proposes pods of a node until it has lost enough. It says false if the round is over.
func (s *podEvictor) evictFrom(l *nodeUsage, victims []*descheduling.Pod) bool {
	gone := 0
	for _, p := range victims {
		if s.shouldStop(l) || s.perNode != nil && gone >= *s.perNode {
			return true
		}
		uses, measured := s.podUsage(p)
		if !measured || !s.canEvict(p) {
			continue
		}
		switch s.round.Evict(s.candidate(p, l)) {
		case descheduling.Accepted:
			gone++
			s.podMoved(p, l, uses)
		case descheduling.NodeLimit:
			return true
		case descheduling.TotalLimit:
			return false
		}
	}
	return true
}

// shouldStop says whether a node need lose no more, or, without a plan, whether the room elsewhere is spent.
func (s *podEvictor) shouldStop(l *nodeUsage) bool {
	if s.isDone(l) {
		return true
	}
	return !s.round.Planned() && slices.ContainsFunc(s.free, func(n int64) bool { return n <= 0 })
}

// canEvict says whether a pod is of a namespace that may lose some, and would find a place as far as can be told.
func (s *podEvictor) canEvict(p *descheduling.Pod) bool {
	return !slices.Contains(s.excludedNamespaces, p.Namespace) && s.round.PreEvictionFilter(p) &&
		(s.round.Planned() || slices.ContainsFunc(s.taints, func(t []model.Taint) bool { return toleratesAll(p, t) }))
}

// toleratesAll says whether a pod bears taints of whatever effect. As the Kubernetes descheduler has it, it does not if it
// has fewer tolerations than there are taints.
func toleratesAll(p *descheduling.Pod, taints []model.Taint) bool {
	return len(p.Spec.Tolerations) >= len(taints) &&
		descheduling.ToleratesTaints(p, &descheduling.Node{Node: &model.Node{Taints: taints}}, func(*model.Taint) bool { return true })
}

// podMoved moves what a pod uses from its node to where it went, or takes it off what is free.
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
