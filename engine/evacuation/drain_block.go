package evacuation

import (
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
	ByWorkload  BlockKind = "workload"  // the replacement of another pod of the workload is not Ready
	ByBudget    BlockKind = "budget"    // a disruption budget
	ByReturn    BlockKind = "return"    // the replacement would return to a drained node
	ByAPIServer BlockKind = "apiServer" // any other refusal by the API server
)

// Block is why a drain does not evict a pod now.
type Block struct {
	Kind   BlockKind `json:"kind"`
	Budget string    `json:"budget,omitempty"` // namespace/name
	Reason string    `json:"reason"`
	// Permanent is set if the block remains until a user changes Field.
	Permanent bool   `json:"permanent"`
	Field     string `json:"field,omitempty"`
	// ClearedBy is what clears the block; empty if it is permanent or not known.
	ClearedBy string `json:"clearedBy,omitempty"`
}

// apiServerBlock returns the block of the last refusal.
func (x *Move) apiServerBlock() *Block {
	return &Block{Kind: ByAPIServer, Reason: x.refusal, Permanent: x.refusedPermanently}
}

// workloadBlock returns the block of a workload that waits for a replacement.
func workloadBlock(x *Move) *Block {
	b := &Block{Kind: ByWorkload, Reason: "one pod of a workload is evicted at a time", ClearedBy: "the replacement of " + x.Pod.Key() + " is Ready"}
	if x.AlreadyTerminating() {
		b.ClearedBy = x.Pod.Key() + " is deleted, which is terminating already"
	}
	if r := x.Replacement; r != nil && r.NodeName == "" && r.UnschedulableReason != "" {
		b.ClearedBy = "the replacement of " + x.Pod.Key() + " is scheduled and Ready"
	}
	return b
}

// budgetBlock returns the block of a budget that refuses an eviction.
func (d *Drain) budgetBlock(now time.Time, p *model.Pod, verdict *budget.Verdict) *Block {
	b := verdict.Budget
	out := &Block{Kind: ByBudget, Budget: b.Namespace + "/" + b.Name, Reason: verdict.Reason}
	if reason, field := permanentBudgetReason(now, b, p); reason != "" {
		out.Permanent, out.Reason, out.Field = true, reason, field
		return out
	}
	out.ClearedBy = d.budgetClearedBy(now, b)
	return out
}

// UnreadyTimeout is the time since its start after which a pod that is not Ready is not expected to
// become Ready.
const UnreadyTimeout = 5 * time.Minute

// permanentBudgetReason returns why a budget refuses p until a user changes a field, and that
// field. It returns "" if the budget may allow the eviction later. Budgets managed by a controller
// are never permanent blocks.
func permanentBudgetReason(now time.Time, b *model.Budget, p *model.Pod) (reason, field string) {
	ofBudget := "of budget " + b.Namespace + "/" + b.Name
	needsScale := b.MaxUnavailable.Set || b.MinAvailable.Percent
	switch {
	case b.Owned:
		return "", ""
	case b.SpecError != "":
		return "its specification is invalid: " + b.SpecError, "spec " + ofBudget
	case b.SyncError != "":
		return b.SyncError, "spec " + ofBudget + ": a numeric minAvailable needs no controller with a scale"
	case b.MaxUnavailable.Set && b.MaxUnavailable.Value <= 0:
		return "spec.maxUnavailable is 0, which never allows a disruption", "spec.maxUnavailable " + ofBudget + ": 1 or more"
	case b.MinAvailable.Percent && b.MinAvailable.Value >= 100:
		return "spec.minAvailable is 100%, which never allows a disruption", "spec.minAvailable " + ofBudget + ": less than 100%"
	case needsScale && b.ExpectedPods == 0 && p.Owner == (model.Owner{}):
		return "its pods have no controller with a replica count", "spec.minAvailable " + ofBudget + ": a number instead of a percentage or maxUnavailable"
	case needsScale && b.ExpectedPods == 0 && b.ObservedGeneration >= b.Generation:
		return "the desired replicas of its pods are 0, so no disruption is allowed", "spec.replicas of " + p.Owner.Kind + " " + p.Owner.Name + ": the running number, or delete the pod"
	case b.ObservedGeneration >= b.Generation && b.ExpectedPods > 0 && b.DesiredHealthy >= b.ExpectedPods:
		return fmt.Sprintf("it requires %d of %d pods", b.DesiredHealthy, b.ExpectedPods), budgetField(b) + " " + ofBudget + ": lower, or spec.replicas of the owner: higher (--surge does this temporarily)"
	case !p.Ready && !b.AlwaysAllowUnhealthy && b.CurrentHealthy < b.DesiredHealthy && !p.Started.IsZero() && now.Sub(p.Started) >= UnreadyTimeout:
		return fmt.Sprintf("the pod and too many others are not Ready: the budget requires %d and has %d", b.DesiredHealthy, b.CurrentHealthy),
			"spec.unhealthyPodEvictionPolicy " + ofBudget + ": AlwaysAllow"
	}
	return "", ""
}

func budgetField(b *model.Budget) string {
	if b.MaxUnavailable.Set {
		return "spec.maxUnavailable"
	}
	return "spec.minAvailable"
}

// budgetClearedBy returns the change after which a budget allows another disruption.
func (d *Drain) budgetClearedBy(now time.Time, b *model.Budget) string {
	if b.ObservedGeneration < b.Generation {
		return "the disruption controller has observed the current budget"
	}
	var notReady []string
	var entry time.Time
	pods := d.view.InNamespace(b.Namespace)
	for _, p := range pods {
		switch {
		case !budget.Ledger.Covers(b, p) || p.Deleting:
		case budget.HasRecentEntry(b, p, now):
			i, _ := slices.BinarySearch(b.Disrupted, p.Name)
			if at := b.DisruptedAt[i].Add(budget.EntryAge); entry.IsZero() || at.Before(entry) {
				entry = at
			}
		case !p.Ready:
			notReady = append(notReady, p.Key())
		}
	}
	slices.Sort(notReady)
	missing := b.DesiredHealthy + 1 - budget.Recount(b, pods, now)
	switch {
	case len(notReady) > 0 && int(missing) >= len(notReady):
		return formatNames(notReady) + " Ready"
	case len(notReady) > 0:
		return fmt.Sprintf("%d of %s Ready", max(missing, 1), formatNames(notReady))
	case !entry.IsZero():
		return entry.UTC().Format(time.RFC3339) + ", when an unused disruption expires"
	}
	return fmt.Sprintf("%d more of its pods are Ready", max(missing, 1))
}

// formatNames lists names with the verb "is" or "are"; of more than three names only the first
// three.
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

// Describe describes the block in a line.
func (b *Block) Describe() string {
	s := b.Reason
	if b.Budget != "" {
		s = "budget " + b.Budget + ": " + s
	}
	switch {
	case b.Field != "":
		s += "; change " + b.Field
	case b.Permanent:
		s += "; a retry cannot succeed"
	case b.ClearedBy != "":
		s += "; until " + b.ClearedBy
	}
	return s
}
