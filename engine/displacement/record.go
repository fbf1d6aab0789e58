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
	// Preemptor is the pod that needs the resources, or nil.
	Preemptor *model.Pod
	// Requester is the user or component that requested it; empty if unknown.
	Requester string
	// MessagePrefix is the start of the condition's message; empty: the cause's.
	MessagePrefix string
	// Rule is the rule that applied, with its numbers; empty if there is none.
	Rule string
	// Grace is the grace period in seconds; nil: the pod's.
	Grace   *int64
	Entries []Entry // by budget; empty if no budget covers the victim or none was debited
}

// Entry is the effect of a displacement on a budget.
type Entry struct {
	Budget        string // its name; the namespace is the victim's
	Before, After int32  // disruptions allowed, for all victims of the decision together
	Overruled     bool   // the budget did not allow it
}

// Message returns the message of the DisruptionTarget condition. For an API-initiated eviction it
// is the text of Kubernetes; the record is in the event.
func (r *Record) Message() string {
	prefix := r.MessagePrefix
	if prefix == "" {
		prefix = r.Cause.MessagePrefix()
	}
	if r.Cause == API {
		return prefix
	}
	if r.Cause == Preemption && r.Preemptor != nil {
		return fmt.Sprintf("%s: %s: %s (uid %s, priority %d over %d) on node %s",
			r.Preemptor.Spec.SchedulerName, prefix, r.Preemptor.Key(), r.Preemptor.UID, r.Preemptor.Spec.Priority, r.Victim.Spec.Priority, r.Node) + r.details()
	}
	return prefix + r.details()
}

// details returns the rule, the budgets and the grace period.
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

// String describes the entry.
func (e Entry) String() string {
	if e.Overruled {
		return "budget " + e.Budget + " overruled"
	}
	return fmt.Sprintf("budget %s allowed %d, now %d", e.Budget, e.Before, e.After)
}

// EventNote returns the note of the event about the victim, with the text of Kubernetes if it has
// such an event.
func (r *Record) EventNote() string {
	switch {
	case r.Cause == Preemption && r.Preemptor != nil:
		return fmt.Sprintf("Preempted by pod %s on node %s", r.Preemptor.UID, r.Node)
	case r.Cause == Taint:
		return "Marking for deletion Pod " + r.Victim.Key()
	}
	prefix := r.MessagePrefix
	if prefix == "" {
		prefix = r.Cause.MessagePrefix()
	}
	if r.Requester != "" {
		prefix += ", requested by " + r.Requester
	}
	return prefix + r.details()
}
