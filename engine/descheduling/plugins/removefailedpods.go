package plugins

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// RemoveFailedPods removes failed pods.
type RemoveFailedPods struct {
	descheduling.Scope
	// ExcludeOwnerKinds are the kinds of owners whose pods are not evicted.
	ExcludeOwnerKinds []string
	// MinAge selects pods that were created at least this long ago; nil means any pod.
	MinAge *time.Duration
	// Reasons selects pods whose status.reason, or waiting or terminated reason of a container, is one of these; empty
	// means any pod.
	Reasons []string
	// ExitCodes selects pods with a container that terminated with one of these codes; empty means any pod.
	ExitCodes []int32
	// Init includes the states of init containers.
	Init bool
}

// Name returns the plugin name used in policies.
func (*RemoveFailedPods) Name() string { return "RemoveFailedPods" }

// Run implements descheduling.Strategy.
func (s *RemoveFailedPods) Run(r *descheduling.Round) {
	r.EvictMatching(func(p *descheduling.Pod, _ *descheduling.Node) bool {
		return p.Phase == model.Failed && s.matches(p, r.Snapshot.Now)
	},
		func(p *descheduling.Pod, n *descheduling.Node) *descheduling.Candidate {
			c := descheduling.NewCandidate(p, n, "")
			c.Reason = func() string {
				return fmt.Sprintf("it has failed (%s) and is %s old", p.Details.PhaseReason, r.Snapshot.Now.Sub(p.Created).Round(time.Second))
			}
			return c
		})
}

func (s *RemoveFailedPods) matches(p *descheduling.Pod, now time.Time) bool {
	return s.Scope.Has(p) &&
		(s.MinAge == nil || now.Sub(p.Created) >= *s.MinAge) &&
		!p.OwnedBy(s.ExcludeOwnerKinds) &&
		(len(s.Reasons) == 0 || slices.Contains(s.Reasons, p.Details.PhaseReason) || s.anyContainer(p, s.hasReason)) &&
		(len(s.ExitCodes) == 0 || s.anyContainer(p, s.hasExitCode))
}

func (s *RemoveFailedPods) anyContainer(p *descheduling.Pod, match func(descheduling.Container) bool) bool {
	return slices.ContainsFunc(p.Details.Containers, match) || s.Init && slices.ContainsFunc(p.Details.Init, match)
}

func (s *RemoveFailedPods) hasReason(c descheduling.Container) bool {
	return slices.ContainsFunc(c.Reasons(), func(reason string) bool { return slices.Contains(s.Reasons, reason) })
}

func (s *RemoveFailedPods) hasExitCode(c descheduling.Container) bool {
	return c.Terminated != nil && slices.Contains(s.ExitCodes, c.Terminated.ExitCode)
}
