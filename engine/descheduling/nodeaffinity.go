package descheduling

import (
	"fmt"

	"github.com/berthproject/berth/engine/model"
)

// RemovePodsViolatingNodeAffinity removes pods from nodes that their node affinity does not want, or wants less than
// another node.
type RemovePodsViolatingNodeAffinity struct {
	Scope
	// Types are the kinds of affinity that count, in the order in which they are gone through.
	Types []AffinityType
}

// AffinityType is a kind of node affinity.
type AffinityType uint8

// The kinds: requiredDuringSchedulingIgnoredDuringExecution, preferredDuringSchedulingIgnoredDuringExecution.
const (
	RequiredAffinity AffinityType = iota
	PreferredAffinity
)

// Name is the plugin's in policies.
func (*RemovePodsViolatingNodeAffinity) Name() string { return "RemovePodsViolatingNodeAffinity" }

// Run implements Strategy.
func (s *RemovePodsViolatingNodeAffinity) Run(r *Round) {
	for _, t := range s.Types {
		if t == RequiredAffinity {
			r.evictMatching(func(p *Pod, n *Node) bool { return s.inScope(p) && r.violatesRequiredAffinity(p, n) }, requiredAffinityCandidate)
		} else {
			r.evictMatching(func(p *Pod, n *Node) bool { return s.inScope(p) && r.hasPreferredNode(p, n) }, r.preferredAffinityCandidate)
		}
	}
}

// inScope says whether the strategy looks at a pod: it has not finished and is within the limits.
func (s *RemovePodsViolatingNodeAffinity) inScope(p *Pod) bool {
	return !p.Finished() && s.Scope.Has(p)
}

// violatesRequiredAffinity says whether a pod's required affinity does not match its node, and it fits another.
func (r *Round) violatesRequiredAffinity(p *Pod, n *Node) bool {
	return p.Spec.NodeSelector.HasRequired && !MatchesNodeAffinity(p, n) && (r.Planned() || r.FitsAnyNode(p, r.nodes))
}

func requiredAffinityCandidate(p *Pod, n *Node) *Candidate {
	c := newCandidate(p, n, "its required node affinity does not match node %s any more", n.Name)
	c.Gain = func(to *Node) Gain {
		return Gain{Before: affinityViolations(p, n), After: affinityViolations(p, to), Metric: "required node affinity that the node does not meet"}
	}
	return c
}

func affinityViolations(p *Pod, n *Node) int64 {
	if MatchesNodeAffinity(p, n) {
		return 0
	}
	return 1
}

// hasPreferredNode says whether the preferred affinity of a pod gives another node more weight than its own.
func (r *Round) hasPreferredNode(p *Pod, n *Node) bool {
	return len(p.Spec.NodeSelector.Preferred) > 0 && r.bestPreferredWeight(p) > preferredWeight(p, n) && (r.Planned() || r.FitsAnyNode(p, r.nodes))
}

func (r *Round) preferredAffinityCandidate(p *Pod, n *Node) *Candidate {
	best, have := r.bestPreferredWeight(p), preferredWeight(p, n)
	c := newCandidate(p, n, "")
	c.Reason = func() string {
		return fmt.Sprintf("its preferred node affinity gives node %s %d, the best node %d", n.Name, have, best)
	}
	c.Gain = func(to *Node) Gain {
		return Gain{Before: best - have, After: best - preferredWeight(p, to), Metric: "weight of preferred node affinity that is missed"}
	}
	return c
}

// preferredWeight is the sum of the weights of the preferred terms that a node matches.
func preferredWeight(p *Pod, n *Node) (sum int64) {
	for i := range p.Spec.NodeSelector.Preferred {
		if t := &p.Spec.NodeSelector.Preferred[i]; t.Term.Matches(n.Labels, n.Name) {
			sum += int64(t.Weight)
		}
	}
	return sum
}

// bestPreferredWeight is the largest weight that any node of the round has for a pod.
func (r *Round) bestPreferredWeight(p *Pod) int64 {
	if best, known := r.cache.bestPreferredWeight[p.Spec]; known {
		return best
	}
	var best int64
	for _, n := range r.nodes {
		best = max(best, preferredWeight(p, n))
	}
	if r.cache.bestPreferredWeight == nil {
		r.cache.bestPreferredWeight = map[*model.PodSpec]int64{}
	}
	r.cache.bestPreferredWeight[p.Spec] = best
	return best
}
