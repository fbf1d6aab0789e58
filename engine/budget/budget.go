package budget

import (
	"slices"

	"github.com/berthproject/berth/engine/model"
)

// Rule is whose arithmetic holds.
type Rule uint8

// The rules; the package comment says what they mean.
const (
	Ledger Rule = iota
	StatusOnly
)

// Covers says whether a pod is under a budget.
func (r Rule) Covers(b *model.Budget, p *model.Pod) bool {
	if b.Namespace != p.Namespace || b.Selector == nil {
		return false
	}
	if r == StatusOnly && (len(b.Selector.Requirements) == 0 || len(p.Labels) == 0) {
		return false
	}
	return b.Selector.Matches(p.Labels)
}

// Costs says whether a pod's leaving takes one from a budget that covers it.
func (r Rule) Costs(b *model.Budget, p *model.Pod) bool {
	return !(r == Ledger && p.Deleting) && !HasEntry(b, p)
}

// HasEntry says whether the budget has already granted that the pod goes.
func HasEntry(b *model.Budget, p *model.Pod) bool {
	_, ok := slices.BinarySearch(b.Disrupted, p.Name)
	return ok
}

// Healthy says whether a pod that a budget covers counts for what the budget
// wants to keep: ready, not on its way out, and not granted to go.
func Healthy(b *model.Budget, p *model.Pod) bool {
	return p.Ready && !p.Deleting && !p.Finished() && !HasEntry(b, p)
}

// Allowed is how many more pods under a budget may leave. Healthy is how many
// there are by Healthy; Stale does not read it.
func (r Rule) Allowed(b *model.Budget, healthy int32) int32 {
	if r == StatusOnly {
		return b.DisruptionsAllowed
	}
	if b.ObservedGeneration < b.Generation {
		return 0
	}
	return max(0, min(b.DisruptionsAllowed, healthy-b.DesiredHealthy))
}

// CountHealthy is how many of the pods a budget covers are healthy.
func (r Rule) CountHealthy(b *model.Budget, pods []*model.Pod) int32 {
	var n int32
	for _, p := range pods {
		if r.Covers(b, p) && Healthy(b, p) {
			n++
		}
	}
	return n
}
