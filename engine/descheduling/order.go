package descheduling

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
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
		order.TrueFirst(b.Details.HasPriority, a.Details.HasPriority),
		cmp.Compare(a.Spec.Priority, b.Spec.Priority),
		cmp.Compare(qosRank(a), qosRank(b)),
		order.TrueFirst(b.Details.PreferNoEviction, a.Details.PreferNoEviction))
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
