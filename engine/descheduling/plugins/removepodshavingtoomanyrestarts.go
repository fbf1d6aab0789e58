package plugins

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/descheduling"
)

// RemovePodsHavingTooManyRestarts removes pods whose containers restarted too often.
type RemovePodsHavingTooManyRestarts struct {
	descheduling.Scope
	// Threshold is the number of restarts, summed over the containers, at which a pod is removed.
	Threshold int32
	// Init includes the restarts of init containers.
	Init bool
	// States limits the pods by phase or container waiting reason; empty means any.
	States []string
}

// Name returns the plugin name used in policies.
func (*RemovePodsHavingTooManyRestarts) Name() string { return "RemovePodsHavingTooManyRestarts" }

// Run implements descheduling.Strategy. On each node the pods with the most restarts are
// evicted first.
func (s *RemovePodsHavingTooManyRestarts) Run(r *descheduling.Round) {
	byRestarts := func(a, b *descheduling.Pod) int { return cmp.Compare(s.restarts(b), s.restarts(a)) }
	r.EvictMatchingBy(byRestarts, func(p *descheduling.Pod, _ *descheduling.Node) bool {
		return s.Scope.Has(p) && s.restarts(p) >= s.Threshold && s.inState(p)
	}, func(p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
		return descheduling.NewCandidate(p, n, "its containers were restarted %d times; the limit is %d", s.restarts(p), s.Threshold)
	})
}

func (s *RemovePodsHavingTooManyRestarts) restarts(p *descheduling.Pod) (sum int32) {
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

func (s *RemovePodsHavingTooManyRestarts) inState(p *descheduling.Pod) bool {
	if len(s.States) == 0 || slices.Contains(s.States, p.Phase.String()) {
		return true
	}
	matches := func(c descheduling.Container) bool { return c.Waiting != "" && slices.Contains(s.States, c.Waiting) }
	return slices.ContainsFunc(p.Details.Containers, matches) || s.Init && slices.ContainsFunc(p.Details.Init, matches)
}
