package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// BlockKind is the cause of a Block.
type BlockKind string

// The kinds of blocks.
const (
	ByWorkload  BlockKind = "pace"          // another pod of the workload is first
	ByBudget    BlockKind = "budget"        // a disruption budget
	ByReturn    BlockKind = "straight back" // the replacement would return to a drained node
	ByAPIServer BlockKind = "server"        // any other refusal by the API server
)

// Block is why a pod on a drained node is not evicted now.
type Block struct {
	Kind   BlockKind `json:"kind"`
	Budget string    `json:"budget,omitempty"` // namespace/name
	Reason string    `json:"why"`
	// Permanent: the block remains until a user changes Field.
	Permanent bool   `json:"never"`
	Field     string `json:"field,omitempty"`
	// ClearedBy is what clears the block; empty if it is permanent or not known.
	ClearedBy string `json:"until,omitempty"`
}

// workloadBlock returns the block of a workload that waits for a replacement.
func workloadBlock(x *Move) *Block {
	b := &Block{Kind: ByWorkload, Reason: "one pod of a workload goes at a time", ClearedBy: "the replacement of " + x.Pod.Key() + " is Ready"}
	if x.alreadyTerminating() {
		b.ClearedBy = x.Pod.Key() + " is gone, which was on its way out"
	}
	if r := x.Replacement; r != nil && r.NodeName == "" && r.UnschedulableReason != "" {
		b.ClearedBy = "the replacement of " + x.Pod.Key() + " has a node and is Ready"
	}
	return b
}

// budgetBlock returns the block of a budget that refuses an eviction.
func budgetBlock(now time.Time, v *View, p *model.Pod, verdict *budget.Verdict) *Block {
	b := verdict.Budget
	out := &Block{Kind: ByBudget, Budget: b.Namespace + "/" + b.Name, Reason: verdict.Reason}
	if why, field := permanentBudgetReason(now, b, p); why != "" {
		out.Permanent, out.Reason, out.Field = true, why, field
		return out
	}
	out.ClearedBy = budgetClearedBy(now, v, b)
	return out
}

// unreadyTimeout is the age from which on a pod that is not Ready is not expected to become
// Ready.
const unreadyTimeout = 5 * time.Minute

// permanentBudgetReason returns why a budget refuses p until a user changes a field, and that
// field, or "" if it may allow it later. Budgets managed by a controller are never permanent
// blocks.
func permanentBudgetReason(now time.Time, b *model.Budget, p *model.Pod) (why, field string) {
	of := "of budget " + b.Namespace + "/" + b.Name
	shares := b.MaxUnavailable.Set || b.MinAvailable.Percent
	switch {
	case b.Owned:
		return "", ""
	case b.SpecError != "":
		return "its specification cannot be read: " + b.SpecError, "spec " + of
	case b.SyncError != "":
		return b.SyncError, "spec " + of + ": a minAvailable that is a number needs no controller with a scale"
	case b.MaxUnavailable.Set && b.MaxUnavailable.Value <= 0:
		return "spec.maxUnavailable is 0, which allows nothing whatever runs", "spec.maxUnavailable " + of + ": 1 or more"
	case b.MinAvailable.Percent && b.MinAvailable.Value >= 100:
		return "spec.minAvailable is 100%, which allows nothing whatever runs", "spec.minAvailable " + of + ": less than 100%"
	case shares && b.ExpectedPods == 0 && p.Owner == (model.Owner{}):
		return "its pods have no controller that says how many there should be", "spec.minAvailable " + of + ": a number, instead of a share or maxUnavailable"
	case shares && b.ExpectedPods == 0 && b.ObservedGeneration >= b.Generation:
		return "the owners of its pods want 0 of them, and of none none may go", "spec.replicas of " + p.Owner.Kind + " " + p.Owner.Name + ": what runs, or delete the pod"
	case b.ObservedGeneration >= b.Generation && b.ExpectedPods > 0 && b.DesiredHealthy >= b.ExpectedPods:
		return fmt.Sprintf("it keeps %d of %d pods", b.DesiredHealthy, b.ExpectedPods), budgetField(b) + " " + of + ": less, or spec.replicas of the owner: more (--surge does so for a while)"
	case !p.Ready && !b.AlwaysAllowUnhealthy && b.CurrentHealthy < b.DesiredHealthy && !p.Started.IsZero() && now.Sub(p.Started) >= unreadyTimeout:
		return fmt.Sprintf("the pod is not Ready, nor are enough others: the budget needs %d and has %d", b.DesiredHealthy, b.CurrentHealthy),
			"spec.unhealthyPodEvictionPolicy " + of + ": AlwaysAllow"
	}
	return "", ""
}

func budgetField(b *model.Budget) string {
	if b.MaxUnavailable.Set {
		return "spec.maxUnavailable"
	}
	return "spec.minAvailable"
}

// budgetClearedBy returns what lets a budget allow another disruption.
func budgetClearedBy(now time.Time, v *View, b *model.Budget) string {
	if b.ObservedGeneration < b.Generation {
		return "the disruption controller has seen the budget as it is now"
	}
	var unready []string
	var entry time.Time
	for _, p := range v.InNamespace(b.Namespace) {
		switch {
		case !budget.Ledger.Covers(b, p) || p.Deleting:
		case budget.HasRecentEntry(b, p, now):
			i, _ := slices.BinarySearch(b.Disrupted, p.Name)
			if at := b.DisruptedAt[i].Add(budget.EntryAge); entry.IsZero() || at.Before(entry) {
				entry = at
			}
		case !p.Ready:
			unready = append(unready, p.Key())
		}
	}
	slices.SortFunc(unready, cmp.Compare[string])
	need := b.DesiredHealthy + 1 - countHealthy(now, v, b)
	switch {
	case len(unready) > 0 && int(need) >= len(unready):
		return formatNames(unready) + " Ready"
	case len(unready) > 0:
		return fmt.Sprintf("%d of %s Ready", max(need, 1), formatNames(unready))
	case !entry.IsZero():
		return entry.UTC().Format(time.RFC3339) + ", when a disruption that was granted and did not happen ages out"
	}
	return fmt.Sprintf("%d more pods under it are made and Ready", max(need, 1))
}

// formatNames lists names; of more than three only the first ones.
func formatNames(names []string) string {
	verb := " are"
	if len(names) == 1 {
		verb = " is"
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more are", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ") + verb
}
