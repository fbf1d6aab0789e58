package displacement

import (
	"fmt"
	"strings"

	"github.com/berthproject/berth/engine/model"
)

// Record is one displacement.
type Record struct {
	Cause  Cause
	Victim *model.Pod
	Node   string
	// Preemptor is the pod for whose sake it happens; nil when it is for none's.
	Preemptor *model.Pod
	// Requester is who asked: a user, or a part of the cluster; empty: not known.
	Requester string
	// MessagePrefix is what the condition's message begins with; empty: the cause's own words.
	MessagePrefix string
	// Rule is the rule that applied, with its numbers; empty when there is no more to
	// say than the cause.
	Rule string
	// Grace is how many seconds the pod was given; nil: its own.
	Grace   *int64
	Entries []Entry // by budget; none when no budget covers the victim, or none was debited
}

// Entry is what the displacement took from a budget.
type Entry struct {
	Budget        string // its name; the namespace is the victim's
	Before, After int32  // disruptions allowed, of all victims of one decision together
	Overruled     bool   // the budget did not allow it
}

// Message is the text of the DisruptionTarget condition. An eviction that was asked of
// the API says there what upstream's says and no more; its record is in its event.
func (r *Record) Message() string {
	opening := r.MessagePrefix
	if opening == "" {
		opening = r.Cause.MessagePrefix()
	}
	if r.Cause == API {
		return opening
	}
	if r.Cause == Preemption && r.Preemptor != nil {
		return fmt.Sprintf("%s: %s: %s (uid %s, priority %d over %d) on node %s",
			r.Preemptor.Spec.SchedulerName, opening, r.Preemptor.Key(), r.Preemptor.UID, r.Preemptor.Spec.Priority, r.Victim.Spec.Priority, r.Node) + r.details()
	}
	return opening + r.details()
}

// details are the rule, budgets and grace.
func (r *Record) details() string {
	var b strings.Builder
	if r.Rule != "" {
		b.WriteString("; " + r.Rule)
	}
	for _, e := range r.Entries {
		b.WriteString("; " + e.String())
	}
	if r.Grace == nil {
		b.WriteString("; with the pod's own grace period")
	} else {
		fmt.Fprintf(&b, "; with a grace period of %d s", *r.Grace)
	}
	return b.String()
}

// String is the entry in words.
func (e Entry) String() string {
	if e.Overruled {
		return "budget " + e.Budget + " overruled"
	}
	return fmt.Sprintf("budget %s allowed %d, now %d", e.Budget, e.Before, e.After)
}

// EventNote is the text of the event about the victim, in upstream's words where upstream
// writes such an event.
func (r *Record) EventNote() string {
	switch {
	case r.Cause == Preemption && r.Preemptor != nil:
		return fmt.Sprintf("Preempted by pod %s on node %s", r.Preemptor.UID, r.Node)
	case r.Cause == Taint:
		return "Marking for deletion Pod " + r.Victim.Key()
	}
	opening := r.MessagePrefix
	if opening == "" {
		opening = r.Cause.MessagePrefix()
	}
	if r.Requester != "" {
		opening += ", asked by " + r.Requester
	}
	return opening + r.details()
}
