package rebalance

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// RemoveFailedPods removes pods that have failed.
type RemoveFailedPods struct {
	Scope
	// ExcludeOwnerKinds: pods with an owner of such a kind stay.
	ExcludeOwnerKinds []string
	// MinAge since creation; younger pods stay. Nil: whatever their age.
	MinAge *time.Duration
	// Reasons: the status' reason, or why a container waits or has ended; empty: any.
	Reasons []string
	// ExitCodes with one of which a container has ended; empty: any.
	ExitCodes []int32
	// Init: the states of init containers count, too.
	Init bool
}

// Name is the plugin's in policies.
func (*RemoveFailedPods) Name() string { return "RemoveFailedPods" }

// Run implements Strategy.
func (s *RemoveFailedPods) Run(r *Round) {
	r.sweep(func(p *Pod, _ *Node) bool { return p.Phase == model.Failed && s.wants(p, r.Snapshot.Now) },
		func(p *Pod, n *Node) *Candidate {
			c := because(p, n, "")
			c.Reason = func() string {
				return fmt.Sprintf("it has failed (%s) and is %s old", p.Facts.PhaseReason, r.Snapshot.Now.Sub(p.Created).Round(time.Second))
			}
			return c
		})
}

func (s *RemoveFailedPods) wants(p *Pod, now time.Time) bool {
	return s.Scope.Has(p) &&
		(s.MinAge == nil || now.Sub(p.Created) >= *s.MinAge) &&
		!p.OwnedBy(s.ExcludeOwnerKinds) &&
		(len(s.Reasons) == 0 || slices.Contains(s.Reasons, p.Facts.PhaseReason) || s.anyContainer(p, s.named)) &&
		(len(s.ExitCodes) == 0 || s.anyContainer(p, s.ended))
}

func (s *RemoveFailedPods) anyContainer(p *Pod, is func(Container) bool) bool {
	return slices.ContainsFunc(p.Facts.Containers, is) || s.Init && slices.ContainsFunc(p.Facts.Init, is)
}

func (s *RemoveFailedPods) named(c Container) bool {
	return slices.ContainsFunc(c.reasons(), func(why string) bool { return slices.Contains(s.Reasons, why) })
}

func (s *RemoveFailedPods) ended(c Container) bool {
	return c.Ended != nil && slices.Contains(s.ExitCodes, c.Ended.Code)
}
