package displace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// Record is one displacement.
type Record struct {
	Cause   Cause
	For     *model.Pod // who asked for it, or for whose sake it is
	Victim  *model.Pod
	Node    string
	Entries []Entry // by budget; none when no budget covers the victim, or none was debited
}

// Entry is what the displacement took from a budget.
type Entry struct {
	Budget        string // its name; the namespace is the victim's
	Before, After int32  // disruptions allowed, of all victims of one decision together
	Overruled     bool   // the budget did not allow it
}

// Message is the text of the DisruptionTarget condition.
func (r *Record) Message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: preempting to accommodate a higher priority pod: %s (uid %s, priority %d over %d) on node %s",
		r.For.Spec.SchedulerName, r.For.Key(), r.For.UID, r.For.Spec.Priority, r.Victim.Spec.Priority, r.Node)
	for _, e := range r.Entries {
		if e.Overruled {
			fmt.Fprintf(&b, "; budget %s overruled", e.Budget)
		} else {
			fmt.Fprintf(&b, "; budget %s allowed %d, now %d", e.Budget, e.Before, e.After)
		}
	}
	b.WriteString("; with the pod's own grace period")
	return b.String()
}

// Note is the text of the event about the victim, in kube-scheduler's words.
func (r *Record) Note() string {
	return fmt.Sprintf("Preempted by pod %s on node %s", r.For.UID, r.Node)
}

// Only are the debits of some of the victims.
func Only(debits []decision.Debit, victims []*model.Pod) []decision.Debit {
	var out []decision.Debit
	for _, d := range debits {
		among := func(name string) bool {
			return slices.ContainsFunc(victims, func(v *model.Pod) bool { return v.Name == name && v.Namespace == d.Budget.Namespace })
		}
		kept := decision.Debit{Budget: d.Budget, Paid: keep(d.Paid, among), Overruled: keep(d.Overruled, among)}
		if len(kept.Paid)+len(kept.Overruled) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

func keep(names []string, f func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !f(n) })
}
