package descheduling

import (
	"cmp"
	"slices"
)

// RemovePodsHavingTooManyRestarts removes pods whose containers have been restarted too often on their node.
type RemovePodsHavingTooManyRestarts struct {
	Scope
	// Threshold is how many restarts of all containers together are too many.
	Threshold int32
	// Init: restarts of init containers count.
	Init bool
	// States limits the pods to those whose phase, or the reason why a container waits, is in the list; empty: all.
	States []string
}

// Name is the plugin's in policies.
func (*RemovePodsHavingTooManyRestarts) Name() string { return "RemovePodsHavingTooManyRestarts" }

// Run implements Strategy. On each node those go first that have been restarted most often.
func (s *RemovePodsHavingTooManyRestarts) Run(r *Round) {
	most := func(a, b *Pod) int { return cmp.Compare(s.restarts(b), s.restarts(a)) }
	r.evictMatchingBy(most, func(p *Pod, _ *Node) bool {
		return s.Scope.Has(p) && s.restarts(p) >= s.Threshold && s.inState(p)
	}, func(p *Pod, n *Node) *Candidate {
		return newCandidate(p, n, "its containers were restarted %d times; %d are too many", s.restarts(p), s.Threshold)
	})
}

func (s *RemovePodsHavingTooManyRestarts) restarts(p *Pod) (sum int32) {
	for i := range p.Details.Containers {
		sum += p.Details.Containers[i].Restarts
	}
	if s.Init {
		for i := range p.Details.Init {
			sum += p.Details.Init[i].Restarts
		}
	}
	return sum
}

func (s *RemovePodsHavingTooManyRestarts) inState(p *Pod) bool {
	if len(s.States) == 0 || slices.Contains(s.States, p.Phase.String()) {
		return true
	}
	waits := func(c Container) bool { return c.Waiting != "" && slices.Contains(s.States, c.Waiting) }
	return slices.ContainsFunc(p.Details.Containers, waits) || s.Init && slices.ContainsFunc(p.Details.Init, waits)
}
