package rebalance

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
			r.sweep(func(p *Pod, n *Node) bool { return s.hasLive(p) && r.unwanted(p, n) }, required)
		} else {
			r.sweep(func(p *Pod, n *Node) bool { return s.hasLive(p) && r.better(p, n) }, r.preferred)
		}
	}
}

// hasLive says whether the strategy looks at a pod: it has not finished and is within the limits.
func (s *RemovePodsViolatingNodeAffinity) hasLive(p *Pod) bool {
	return !p.Finished() && s.Scope.Has(p)
}

// unwanted says whether a pod's required affinity does not match its node, and it fits another.
func (r *Round) unwanted(p *Pod, n *Node) bool {
	return p.Spec.NodeSelector.HasRequired && !SelectsNode(p, n) && (r.Planned() || r.FitsAny(p, r.nodes))
}

func required(p *Pod, n *Node) *Candidate {
	c := because(p, n, "its required node affinity does not match node %s any more", n.Name)
	c.Gain = func(to *Node) Gain {
		return Gain{Before: misses(p, n), After: misses(p, to), Of: "required node affinity that the node does not meet"}
	}
	return c
}

func misses(p *Pod, n *Node) int64 {
	if SelectsNode(p, n) {
		return 0
	}
	return 1
}

// better says whether the preferred affinity of a pod gives another node more weight than its own.
func (r *Round) better(p *Pod, n *Node) bool {
	return len(p.Spec.NodeSelector.Preferred) > 0 && r.bestWeight(p) > weight(p, n) && (r.Planned() || r.FitsAny(p, r.nodes))
}

func (r *Round) preferred(p *Pod, n *Node) *Candidate {
	best, have := r.bestWeight(p), weight(p, n)
	c := because(p, n, "")
	c.Reason = func() string {
		return fmt.Sprintf("its preferred node affinity gives node %s %d, the best node %d", n.Name, have, best)
	}
	c.Gain = func(to *Node) Gain {
		return Gain{Before: best - have, After: best - weight(p, to), Of: "weight of preferred node affinity that is missed"}
	}
	return c
}

// weight is the sum of the weights of the preferred terms that a node matches.
func weight(p *Pod, n *Node) (sum int64) {
	for i := range p.Spec.NodeSelector.Preferred {
		if t := &p.Spec.NodeSelector.Preferred[i]; t.Term.Matches(n.Labels, n.Name) {
			sum += int64(t.Weight)
		}
	}
	return sum
}

// bestWeight is the largest weight that any node of the round has for a pod.
func (r *Round) bestWeight(p *Pod) int64 {
	if best, known := r.facts.best[p.Spec]; known {
		return best
	}
	var best int64
	for _, n := range r.nodes {
		best = max(best, weight(p, n))
	}
	if r.facts.best == nil {
		r.facts.best = map[*model.PodSpec]int64{}
	}
	r.facts.best[p.Spec] = best
	return best
}
