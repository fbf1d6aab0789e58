package budget

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Rule selects the arithmetic; see the package comment.
type Rule uint8

// The rules.
const (
	Ledger Rule = iota
	StatusOnly
)

// Covers reports whether a budget covers a pod.
func (r Rule) Covers(b *model.Budget, p *model.Pod) bool {
	if b.Namespace != p.Namespace || b.Selector == nil {
		return false
	}
	if r == StatusOnly && (len(b.Selector.Requirements) == 0 || len(p.Labels) == 0) {
		return false
	}
	return b.Selector.Matches(p.Labels)
}

// Costs reports whether disrupting a pod consumes a disruption of a budget that covers it.
func (r Rule) Costs(b *model.Budget, p *model.Pod) bool {
	return !(r == Ledger && p.Deleting) && !HasEntry(b, p)
}

// HasEntry reports whether the budget has already granted the pod's disruption.
func HasEntry(b *model.Budget, p *model.Pod) bool {
	_, ok := slices.BinarySearch(b.Disrupted, p.Name)
	return ok
}

// Healthy reports whether a covered pod counts as healthy: ready, not terminating, and without an
// entry.
func Healthy(b *model.Budget, p *model.Pod) bool {
	return p.Ready && !p.Deleting && !p.Finished() && !HasEntry(b, p)
}

// Allowed returns the number of covered pods that may still be disrupted. healthy is the number of Healthy
// pods; StatusOnly ignores it.
func (r Rule) Allowed(b *model.Budget, healthy int32) int32 {
	if r == StatusOnly {
		return b.DisruptionsAllowed
	}
	if b.ObservedGeneration < b.Generation {
		return 0
	}
	return max(0, min(b.DisruptionsAllowed, healthy-b.DesiredHealthy))
}

// CountHealthy returns the number of covered pods that are healthy.
func (r Rule) CountHealthy(b *model.Budget, pods []*model.Pod) int32 {
	var n int32
	for _, p := range pods {
		if r.Covers(b, p) && Healthy(b, p) {
			n++
		}
	}
	return n
}
