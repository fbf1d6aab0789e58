package plugins

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/descheduling"
)

// PodLifeTime removes pods that are too old or in a given state: those that meet all criteria.
type PodLifeTime struct {
	descheduling.Scope
	// MaxAge selects pods that were created longer ago than this; nil means any pod.
	MaxAge *time.Duration
	// States selects pods whose phase, status.reason, or waiting or terminated reason of a container is one of these;
	// empty means any pod.
	States []string
	// Conditions selects pods with at least one matching condition; empty means any pod.
	Conditions []ConditionFilter
	// ExitCodes selects pods with a container that terminated with one of these codes; empty means any pod.
	ExitCodes []int32
	// OwnerKinds selects pods with an owner of one of these kinds; empty means any pod. ExcludeOwnerKinds excludes
	// pods.
	OwnerKinds, ExcludeOwnerKinds []string
	// Init and Ephemeral apply States and ExitCodes also to init and ephemeral containers.
	Init, Ephemeral bool
}

// ConditionFilter selects pod conditions; empty fields match any value.
type ConditionFilter struct {
	Type, Status, Reason string
	MinAge               time.Duration // since the last transition
}

// Name returns the plugin name used in policies.
func (*PodLifeTime) Name() string { return "PodLifeTime" }

// Run implements descheduling.Strategy. The oldest pods of all nodes are evicted first.
func (s *PodLifeTime) Run(r *descheduling.Round) {
	type agedPod struct {
		*descheduling.Pod
		node *descheduling.Node
	}
	var list []agedPod
	for _, n := range r.Nodes() {
		for _, p := range r.AllPodsOn(n) {
			if s.matches(p, r.Snapshot.Now) && r.Evictable(p) && r.PreEvictionFilter(p) {
				list = append(list, agedPod{p, n})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b agedPod) int { return a.Created.Compare(b.Created) })
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
			text += fmt.Sprintf("; the limit is %s", *s.MaxAge)
		}
		if len(s.States)+len(s.Conditions)+len(s.ExitCodes) > 0 {
			text += strings.TrimSpace(fmt.Sprintf("; phase %s %s", p.Phase, p.Details.PhaseReason))
		}
		return text
	}
	return c
}

// matches reports whether p meets all criteria.
func (s *PodLifeTime) matches(p *descheduling.Pod, now time.Time) bool {
	return s.Scope.Has(p) &&
		(s.MaxAge == nil || now.Sub(p.Created) > *s.MaxAge) &&
		(len(s.OwnerKinds) == 0 || p.OwnedBy(s.OwnerKinds)) && !p.OwnedBy(s.ExcludeOwnerKinds) &&
		(len(s.States) == 0 || s.inState(p)) &&
		(len(s.ExitCodes) == 0 || s.anyContainer(p, s.hasExitCode)) &&
		(len(s.Conditions) == 0 || s.hasCondition(p, now))
}

// anyContainer reports whether match returns true for a container. It considers init and ephemeral containers only with
// Init and Ephemeral.
func (s *PodLifeTime) anyContainer(p *descheduling.Pod, match func(descheduling.Container) bool) bool {
	return slices.ContainsFunc(p.Details.Containers, match) ||
		s.Init && slices.ContainsFunc(p.Details.Init, match) ||
		s.Ephemeral && slices.ContainsFunc(p.Details.Ephemeral, match)
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

// matches reports whether a condition matches. One without a transition time is never old
// enough.
func (f *ConditionFilter) matches(c descheduling.Condition, now time.Time) bool {
	return (f.Type == "" || f.Type == c.Type) && (f.Status == "" || f.Status == c.Status) && (f.Reason == "" || f.Reason == c.Reason) &&
		(f.MinAge == 0 || !c.LastTransition.IsZero() && now.Sub(c.LastTransition) >= f.MinAge)
}
