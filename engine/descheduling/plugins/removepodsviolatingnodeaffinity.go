package plugins

import (
	"fmt"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// RemovePodsViolatingNodeAffinity removes pods whose node violates their required node
// affinity, or has a lower preferred weight than another node.
type RemovePodsViolatingNodeAffinity struct {
	descheduling.Scope
	// Types are the evaluated kinds of affinity, in order.
	Types []AffinityType
}

// AffinityType is a kind of node affinity.
type AffinityType uint8

// The kinds: requiredDuringSchedulingIgnoredDuringExecution,
// preferredDuringSchedulingIgnoredDuringExecution.
const (
	RequiredAffinity AffinityType = iota
	PreferredAffinity
)

// Name returns the plugin name used in policies.
func (*RemovePodsViolatingNodeAffinity) Name() string { return "RemovePodsViolatingNodeAffinity" }

// Run implements descheduling.Strategy.
func (s *RemovePodsViolatingNodeAffinity) Run(r *descheduling.Round) {
	w := &preferredWeights{round: r, best: map[*model.PodSpec]int64{}}
	for _, t := range s.Types {
		if t == RequiredAffinity {
			r.EvictMatching(func(p *descheduling.Pod, n *descheduling.Node) bool {
				return s.inScope(p) && violatesRequiredAffinity(r, p, n)
			}, requiredAffinityCandidate)
		} else {
			r.EvictMatching(func(p *descheduling.Pod, n *descheduling.Node) bool { return s.inScope(p) && w.hasBetterNode(p, n) }, w.candidate)
		}
	}
}

// inScope reports whether the strategy considers p: it is unfinished and within the scope.
func (s *RemovePodsViolatingNodeAffinity) inScope(p *descheduling.Pod) bool {
	return !p.Finished() && s.Scope.Has(p)
}

// violatesRequiredAffinity reports whether n does not match the required affinity of p. Without a plan, p
// must also fit one of the run's nodes.
func violatesRequiredAffinity(r *descheduling.Round, p *descheduling.Pod, n *descheduling.Node) bool {
	return p.Spec.NodeSelector.HasRequired && !descheduling.MatchesNodeAffinity(p, n) && (r.Planned() || r.FitsAnyNode(p, r.Nodes()))
}

func requiredAffinityCandidate(p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
	c := descheduling.NewCandidate(p, n, "its required node affinity no longer matches node %s", n.Name)
	c.Gain = func(to *descheduling.Node) descheduling.Gain {
		return descheduling.Gain{Before: affinityViolations(p, n), After: affinityViolations(p, to), Metric: "violations of required node affinity"}
	}
	return c
}

func affinityViolations(p *descheduling.Pod, n *descheduling.Node) int64 {
	if descheduling.MatchesNodeAffinity(p, n) {
		return 0
	}
	return 1
}

// preferredWeights computes the weights of preferred node affinity in a run.
type preferredWeights struct {
	round *descheduling.Round
	best  map[*model.PodSpec]int64
}

// hasBetterNode reports whether another node has a higher preferred weight for p than n. Without a plan, p
// must also fit one of the run's nodes.
func (w *preferredWeights) hasBetterNode(p *descheduling.Pod, n *descheduling.Node) bool {
	r := w.round
	return len(p.Spec.NodeSelector.Preferred) > 0 && w.bestOf(p) > preferredWeight(p, n) && (r.Planned() || r.FitsAnyNode(p, r.Nodes()))
}

func (w *preferredWeights) candidate(p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
	best, current := w.bestOf(p), preferredWeight(p, n)
	c := descheduling.NewCandidate(p, n, "")
	c.Reason = func() string {
		return fmt.Sprintf("its preferred node affinity weighs node %s %d, the best node %d", n.Name, current, best)
	}
	c.Gain = func(to *descheduling.Node) descheduling.Gain {
		return descheduling.Gain{Before: best - current, After: best - preferredWeight(p, to), Metric: "missed weight of preferred node affinity"}
	}
	return c
}

// preferredWeight returns the sum of the weights of the preferred terms that n matches.
func preferredWeight(p *descheduling.Pod, n *descheduling.Node) (sum int64) {
	for i := range p.Spec.NodeSelector.Preferred {
		if t := &p.Spec.NodeSelector.Preferred[i]; t.Term.Matches(n.Labels, n.Name) {
			sum += int64(t.Weight)
		}
	}
	return sum
}

// bestOf returns the highest preferred weight that any node of the run has for p.
func (w *preferredWeights) bestOf(p *descheduling.Pod) int64 {
	best, ok := w.best[p.Spec]
	if !ok {
		for _, n := range w.round.Nodes() {
			best = max(best, preferredWeight(p, n))
		}
		w.best[p.Spec] = best
	}
	return best
}
