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

// Kind is what a Block comes from.
type Kind string

// The kinds of blocks.
const (
	Paced        Kind = "pace"          // another pod of its workload comes first
	ByBudget     Kind = "budget"        // a disruption budget
	StraightBack Kind = "straight back" // it would come back at once
	ByServer     Kind = "server"        // the API server refused it for another reason
)

// Block is what holds a pod on a drained node.
type Block struct {
	Kind   Kind   `json:"kind"`
	Budget string `json:"budget,omitempty"` // namespace/name
	Why    string `json:"why"`
	// Never: it holds until somebody changes Field.
	Never bool   `json:"never"`
	Field string `json:"field,omitempty"`
	// Until is what ends it; empty when it is Never, or not known.
	Until string `json:"until,omitempty"`
}

// paced is the block of a workload that waits for a replacement.
func paced(x *Move) *Block {
	b := &Block{Kind: Paced, Why: "one pod of a workload goes at a time", Until: "the replacement of " + x.Pod.Key() + " is Ready"}
	if x.leaving() {
		b.Until = x.Pod.Key() + " is gone, which was on its way out"
	}
	if r := x.Replacement; r != nil && r.NodeName == "" && r.Unscheduled != "" {
		b.Until = "the replacement of " + x.Pod.Key() + " has a node and is Ready"
	}
	return b
}

// byBudget is the block of a budget that does not let a pod go.
func byBudget(now time.Time, v *View, p *model.Pod, verdict *budget.Verdict) *Block {
	b := verdict.Budget
	out := &Block{Kind: ByBudget, Budget: b.Namespace + "/" + b.Name, Why: verdict.Why}
	if why, field := never(now, b, p); why != "" {
		out.Never, out.Why, out.Field = true, why, field
		return out
	}
	out.Until = until(now, v, b)
	return out
}

// longUnready is how long a pod must have been started to be taken for one that will not
// get Ready.
const longUnready = 5 * time.Minute

// never says why a budget will not let a pod go before somebody changes something, and
// what; empty when it might. A budget that a program keeps is up to the program.
func never(now time.Time, b *model.Budget, p *model.Pod) (why, field string) {
	of := "of budget " + b.Namespace + "/" + b.Name
	shares := b.MaxUnavailable.Set || b.MinAvailable.Percent
	switch {
	case b.Owned:
		return "", ""
	case b.Fault != "":
		return "its specification cannot be read: " + b.Fault, "spec " + of
	case b.SyncFailed != "":
		return b.SyncFailed, "spec " + of + ": a minAvailable that is a number needs no controller with a scale"
	case b.MaxUnavailable.Set && b.MaxUnavailable.Value <= 0:
		return "spec.maxUnavailable is 0, which allows nothing whatever runs", "spec.maxUnavailable " + of + ": 1 or more"
	case b.MinAvailable.Percent && b.MinAvailable.Value >= 100:
		return "spec.minAvailable is 100%, which allows nothing whatever runs", "spec.minAvailable " + of + ": less than 100%"
	case shares && b.ExpectedPods == 0 && p.Owner == (model.Owner{}):
		return "its pods have no controller that says how many there should be", "spec.minAvailable " + of + ": a number, instead of a share or maxUnavailable"
	case shares && b.ExpectedPods == 0 && b.ObservedGeneration >= b.Generation:
		return "the owners of its pods want 0 of them, and of none none may go", "spec.replicas of " + p.Owner.Kind + " " + p.Owner.Name + ": what runs, or delete the pod"
	case b.ObservedGeneration >= b.Generation && b.ExpectedPods > 0 && b.DesiredHealthy >= b.ExpectedPods:
		return fmt.Sprintf("it keeps %d of %d pods", b.DesiredHealthy, b.ExpectedPods), keeps(b) + " " + of + ": less, or spec.replicas of the owner: more (--surge does so for a while)"
	case !p.Ready && !b.AlwaysAllow && b.CurrentHealthy < b.DesiredHealthy && !p.Started.IsZero() && now.Sub(p.Started) >= longUnready:
		return fmt.Sprintf("the pod is not Ready, nor are enough others: the budget needs %d and has %d", b.DesiredHealthy, b.CurrentHealthy),
			"spec.unhealthyPodEvictionPolicy " + of + ": AlwaysAllow"
	}
	return "", ""
}

func keeps(b *model.Budget) string {
	if b.MaxUnavailable.Set {
		return "spec.maxUnavailable"
	}
	return "spec.minAvailable"
}

// until says what lets a budget allow one more.
func until(now time.Time, v *View, b *model.Budget) string {
	if b.ObservedGeneration < b.Generation {
		return "the disruption controller has seen the budget as it is now"
	}
	var unready []string
	var entry time.Time
	for _, p := range v.In(b.Namespace) {
		switch {
		case !budget.Ledger.Covers(b, p) || p.Deleting:
		case budget.EnteredLately(b, p, now):
			i, _ := slices.BinarySearch(b.Disrupted, p.Name)
			if at := b.DisruptedAt[i].Add(budget.EntryAge); entry.IsZero() || at.Before(entry) {
				entry = at
			}
		case !p.Ready:
			unready = append(unready, p.Key())
		}
	}
	slices.SortFunc(unready, cmp.Compare[string])
	need := b.DesiredHealthy + 1 - standing(now, v, b)
	switch {
	case len(unready) > 0 && int(need) >= len(unready):
		return few(unready) + " Ready"
	case len(unready) > 0:
		return fmt.Sprintf("%d of %s Ready", max(need, 1), few(unready))
	case !entry.IsZero():
		return entry.UTC().Format(time.RFC3339) + ", when a disruption that was granted and did not happen ages out"
	}
	return fmt.Sprintf("%d more pods under it are made and Ready", max(need, 1))
}

// few are names, or the first of them and how many more there are.
func few(names []string) string {
	verb := " are"
	if len(names) == 1 {
		verb = " is"
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more are", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ") + verb
}
