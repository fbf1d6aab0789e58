package plugins

import (
	"fmt"
	"github.com/berthproject/berth/engine/descheduling"
	"slices"
	"strings"
	"time"
)

// PodLifeTime removes pods that are too old, or in a state that they do not come out of: those that meet every
// criterion that is given.
type PodLifeTime struct {
	descheduling.Scope
	// MaxAge since creation; older pods go. Nil: whatever their age.
	MaxAge *time.Duration
	// States: the phase, the status' reason, or why a container waits or has ended; empty: any.
	States []string
	// Conditions of which the pod has one; empty: any.
	Conditions []ConditionFilter
	// ExitCodes with one of which a container has ended; empty: any.
	ExitCodes []int32
	// OwnerKinds of which the pod has one, and has none; empty: any, and none.
	OwnerKinds, ExcludeOwnerKinds []string
	// Init and Ephemeral: the states of such containers count, too.
	Init, Ephemeral bool
}

// ConditionFilter describes conditions of pods; what is empty is not asked.
type ConditionFilter struct {
	Type, Status, Reason string
	MinAge               time.Duration // since the last transition
}

// Name is the plugin's in policies.
func (*PodLifeTime) Name() string { return "PodLifeTime" }

// Run implements Strategy. The oldest pods go first, whichever node they are on.
func (s *PodLifeTime) Run(r *descheduling.Round) {
	type old struct {
		*descheduling.Pod
		node *descheduling.Node
	}
	var list []old
	for _, n := range r.Nodes() {
		for _, p := range r.AllPodsOn(n) {
			if s.matches(p, r.Snapshot.Now) && r.Evictable(p) && r.PreEvictionFilter(p) {
				list = append(list, old{p, n})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b old) int { return a.Created.Compare(b.Created) })
	for _, o := range list {
		if r.Evict(s.candidate(o.Pod, o.node, r.Snapshot.Now)) == descheduling.TotalLimit {
			return
		}
	}
}

func (s *PodLifeTime) candidate(p *descheduling.Pod, n *descheduling.Node, now time.Time) *descheduling.Candidate {
	c := descheduling.NewCandidate(p, n, "")
	c.Reason = func() string {
		text := fmt.Sprintf("it is %s old", now.Sub(p.Created).Round(time.Second))
		if s.MaxAge != nil {
			text += fmt.Sprintf("; %s are allowed", *s.MaxAge)
		}
		if len(s.States)+len(s.Conditions)+len(s.ExitCodes) > 0 {
			text += strings.TrimSpace(fmt.Sprintf("; phase %s %s", p.Phase, p.Details.PhaseReason))
		}
		return text
	}
	return c
}

// matches says whether a pod meets all criteria.
func (s *PodLifeTime) matches(p *descheduling.Pod, now time.Time) bool {
	return s.Scope.Has(p) &&
		(s.MaxAge == nil || now.Sub(p.Created) > *s.MaxAge) &&
		(len(s.OwnerKinds) == 0 || p.OwnedBy(s.OwnerKinds)) && !p.OwnedBy(s.ExcludeOwnerKinds) &&
		(len(s.States) == 0 || s.inState(p)) &&
		(len(s.ExitCodes) == 0 || s.anyContainer(p, s.hasExitCode)) &&
		(len(s.Conditions) == 0 || s.hasCondition(p, now))
}

// anyContainer says whether a container that counts is as asked.
func (s *PodLifeTime) anyContainer(p *descheduling.Pod, is func(descheduling.Container) bool) bool {
	return slices.ContainsFunc(p.Details.Containers, is) ||
		s.Init && slices.ContainsFunc(p.Details.Init, is) ||
		s.Ephemeral && slices.ContainsFunc(p.Details.Ephemeral, is)
}

func (s *PodLifeTime) inState(p *descheduling.Pod) bool {
	return slices.Contains(s.States, p.Phase.String()) || slices.Contains(s.States, p.Details.PhaseReason) ||
		s.anyContainer(p, func(c descheduling.Container) bool { return slices.ContainsFunc(c.Reasons(), s.isListedState) })
}

func (s *PodLifeTime) isListedState(reason string) bool { return slices.Contains(s.States, reason) }

func (s *PodLifeTime) hasExitCode(c descheduling.Container) bool {
	return c.Terminated != nil && slices.Contains(s.ExitCodes, c.Terminated.ExitCode)
}

func (s *PodLifeTime) hasCondition(p *descheduling.Pod, now time.Time) bool {
	return slices.ContainsFunc(p.Details.Conditions, func(c descheduling.Condition) bool {
		return slices.ContainsFunc(s.Conditions, func(f ConditionFilter) bool { return f.matches(c, now) })
	})
}

// matches says whether a condition is as described. One that does not say when it changed is not old enough.
func (f *ConditionFilter) matches(c descheduling.Condition, now time.Time) bool {
	return (f.Type == "" || f.Type == c.Type) && (f.Status == "" || f.Status == c.Status) && (f.Reason == "" || f.Reason == c.Reason) &&
		(f.MinAge == 0 || !c.LastTransition.IsZero() && now.Sub(c.LastTransition) >= f.MinAge)
}
