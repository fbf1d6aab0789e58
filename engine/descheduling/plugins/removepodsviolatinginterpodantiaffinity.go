package plugins

import (
	"fmt"

	"github.com/berthproject/berth/engine/descheduling"
)

// RemovePodsViolatingInterPodAntiAffinity removes pods whose own required anti-affinity
// matches another pod in the same topology domain. Pods outside of the Scope are ignored.
type RemovePodsViolatingInterPodAntiAffinity struct {
	descheduling.Scope
}

// Name returns the plugin name used in policies.
func (*RemovePodsViolatingInterPodAntiAffinity) Name() string {
	return "RemovePodsViolatingInterPodAntiAffinity"
}

// Run implements descheduling.Strategy. After each eviction the conflicts of the remaining
// pods are evaluated again.
func (s *RemovePodsViolatingInterPodAntiAffinity) Run(r *descheduling.Round) {
	index := newAntiAffinityIndex(r, s)
	for _, n := range r.Nodes() {
		if s.runNode(r, n, index) == descheduling.TotalLimit {
			return
		}
	}
}

func (s *RemovePodsViolatingInterPodAntiAffinity) runNode(r *descheduling.Round, n *descheduling.Node, index *antiAffinityIndex) (last descheduling.Outcome) {
	var pods []*descheduling.Pod
	for _, p := range r.PodsOn(n) {
		if len(p.Spec.AntiAffinity) > 0 && s.Scope.Has(p) {
			pods = append(pods, p)
		}
	}
	descheduling.SortForEviction(pods)
	for _, p := range pods {
		if index.firstConflict(p, n) == nil || !r.Evictable(p) || !r.PreEvictionFilter(p) {
			continue
		}
		last = r.Evict(s.candidate(p, n, index))
		switch last {
		case descheduling.Accepted:
			index.podMoved(p)
		case descheduling.NodeLimit, descheduling.TotalLimit:
			return last
		}
	}
	return last
}

func (s *RemovePodsViolatingInterPodAntiAffinity) candidate(p *descheduling.Pod, n *descheduling.Node, index *antiAffinityIndex) *descheduling.Candidate {
	other := index.firstConflict(p, n)
	c := descheduling.NewCandidate(p, n, "")
	c.Reason = func() string { return fmt.Sprintf("its anti-affinity excludes %s", other.Key()) }
	c.Gain = func(to *descheduling.Node) descheduling.Gain {
		return descheduling.Gain{Before: index.countConflicts(p, n), After: index.countConflicts(p, to), Metric: "pods excluded by its anti-affinity"}
	}
	return c
}
