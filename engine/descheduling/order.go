package descheduling

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Scope limits a strategy to namespaces and labels.
type Scope struct {
	Namespaces Namespaces
	Labels     *model.Selector // nil selects all
}

// Has reports whether p is in the scope.
func (s *Scope) Has(p *Pod) bool {
	return s.Namespaces.Has(p.Namespace) && (s.Labels == nil || s.Labels.Matches(p.Labels))
}

// OwnedBy reports whether p has an owner of one of the kinds.
func (p *Pod) OwnedBy(kinds []string) bool {
	return slices.ContainsFunc(p.Details.Owners, func(o model.Owner) bool { return slices.Contains(kinds, o.Kind) })
}

// SortForEviction sorts pods in eviction order: by priority, pods without
// one first; best-effort before burstable before guaranteed; pods that prefer no eviction
// last. The sort is stable.
func SortForEviction(pods []*Pod) {
	slices.SortStableFunc(pods, CompareForEviction)
}

// CompareForEviction compares pods for SortForEviction.
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
