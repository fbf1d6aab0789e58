package descheduling

import (
	"fmt"
)

// RemovePodsViolatingInterPodAntiAffinity removes pods that their own required anti-affinity keeps apart from others
// that share their node, zone or whatever the term names. Pods outside of the Scope
// are not seen at all.
type RemovePodsViolatingInterPodAntiAffinity struct {
	Scope
}

// Name is the plugin's in policies.
func (*RemovePodsViolatingInterPodAntiAffinity) Name() string {
	return "RemovePodsViolatingInterPodAntiAffinity"
}

// Run implements Strategy. After each pod that goes, those that it kept from being alone are asked again.
func (s *RemovePodsViolatingInterPodAntiAffinity) Run(r *Round) {
	index := newAntiAffinityIndex(r, s)
	for _, n := range r.nodes {
		if s.runNode(r, n, index) == TotalLimit {
			return
		}
	}
}

func (s *RemovePodsViolatingInterPodAntiAffinity) runNode(r *Round, n *Node, index *antiAffinityIndex) (last Outcome) {
	var carriers []*Pod
	for _, p := range r.PodsOn(n) {
		if len(p.Spec.AntiAffinity) > 0 && s.Scope.Has(p) {
			carriers = append(carriers, p)
		}
	}
	SortForEviction(carriers)
	for _, p := range carriers {
		if index.firstConflict(p, n) == nil || !r.Evictable(p) || !r.PreEvictionFilter(p) {
			continue
		}
		last = r.Evict(s.candidate(p, n, index))
		switch last {
		case Accepted:
			index.podMoved(p)
		case NodeLimit, TotalLimit:
			return last
		}
	}
	return last
}

func (s *RemovePodsViolatingInterPodAntiAffinity) candidate(p *Pod, n *Node, index *antiAffinityIndex) *Candidate {
	other := index.firstConflict(p, n)
	c := newCandidate(p, n, "")
	c.Reason = func() string { return fmt.Sprintf("its anti-affinity keeps it apart from %s", other.Key()) }
	c.Gain = func(to *Node) Gain {
		return Gain{Before: index.countConflicts(p, n), After: index.countConflicts(p, to), Metric: "pods that it is to be apart from"}
	}
	return c
}
