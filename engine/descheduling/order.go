package descheduling

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Scope limits a strategy to pods of namespaces and with labels.
type Scope struct {
	Namespaces Namespaces
	Labels     *model.Selector // nil: all
}

// Has says whether a pod is within.
func (s *Scope) Has(p *Pod) bool {
	return s.Namespaces.Has(p.Namespace) && (s.Labels == nil || s.Labels.Matches(p.Labels))
}

// OwnedBy says whether a pod has an owner of one of the kinds.
func (p *Pod) OwnedBy(kinds []string) bool {
	return slices.ContainsFunc(p.Details.Owners, func(o model.Owner) bool { return slices.Contains(kinds, o.Kind) })
}

// SortForEviction puts pods in the order in which they had better go: by priority, none before any; best effort
// before burstable before guaranteed; those that prefer to stay last. Equals keep their order.
func SortForEviction(pods []*Pod) {
	slices.SortStableFunc(pods, CompareForEviction)
}

// CompareForEviction is negative if a had better go before b; see SortVictims.
func CompareForEviction(a, b *Pod) int {
	return cmp.Or(
		compareBool(a.Details.HasPriority, b.Details.HasPriority),
		cmp.Compare(a.Spec.Priority, b.Spec.Priority),
		cmp.Compare(qosRank(a), qosRank(b)),
		compareBool(a.Details.PreferNoEviction, b.Details.PreferNoEviction))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func qosRank(p *Pod) int {
	switch {
	case p.Details.Guaranteed:
		return 2
	case p.Spec.BestEffort:
		return 0
	}
	return 1
}
