package rebalance

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
	index := newConflicts(r, s)
	for _, n := range r.nodes {
		if s.runNode(r, n, index) == TotalLimit {
			return
		}
	}
}

func (s *RemovePodsViolatingInterPodAntiAffinity) runNode(r *Round, n *Node, index *conflicts) (last Outcome) {
	var carriers []*Pod
	for _, p := range r.PodsOn(n) {
		if len(p.Spec.AntiAffinity) > 0 && s.Scope.Has(p) {
			carriers = append(carriers, p)
		}
	}
	SortVictims(carriers)
	for _, p := range carriers {
		if index.with(p, n) == nil || !r.Evictable(p) || !r.Fits(p) {
			continue
		}
		last = r.Evict(s.candidate(p, n, index))
		switch last {
		case Went:
			index.move(p)
		case NodeLimit, TotalLimit:
			return last
		}
	}
	return last
}

func (s *RemovePodsViolatingInterPodAntiAffinity) candidate(p *Pod, n *Node, index *conflicts) *Candidate {
	other := index.with(p, n)
	c := because(p, n, "")
	c.Reason = func() string { return fmt.Sprintf("its anti-affinity keeps it apart from %s", other.Key()) }
	c.Gain = func(to *Node) Gain {
		return Gain{Before: index.count(p, n), After: index.count(p, to), Of: "pods that it is to be apart from"}
	}
	return c
}
