package nodelifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Event is the current state of a Node, or one of the types below.
type Event interface{ event() }

// NodeDeleted reports that a node was deleted.
type NodeDeleted struct{ Node string }

// LeaseRenewed is the current state of a node's Lease.
type LeaseRenewed struct {
	Node string
	Time time.Time // spec.renewTime, by the node's clock
}

// Outcome reports the outcome of an effect.
type Outcome struct {
	Node, UID string
	// IsTaintUpdate is set if the effect was an UpdateTaints; otherwise it was a MarkUnknown.
	IsTaintUpdate bool
	Failed        bool
}

func (Node) event()         {}
func (NodeDeleted) event()  {}
func (LeaseRenewed) event() {}
func (Outcome) event()      {}

// Effect is an action on a node. The caller reports one Outcome for each effect.
type Effect interface{ effect() }

// MarkUnknown writes the conditions of a silent node. SilentSince is the last heartbeat; Renewed is
// renewTime of the last observed Lease, zero without one. A caller that has observed a later renewal
// skips the write.
type MarkUnknown struct {
	Node, UID   string
	SilentSince time.Time
	Renewed     time.Time
	Conditions  []Condition // the conditions to write; all others stay
}

// UpdateTaints adds and removes taints. Taints are equal if key and effect are.
type UpdateTaints struct {
	Node, UID string
	Add       []model.TimedTaint
	Remove    []model.Taint
	// QueueTime is how long the node waited in its zone's taint queue, if Add has a NoExecute taint;
	// else 0.
	QueueTime time.Duration
}

func (MarkUnknown) effect()  {}
func (UpdateTaints) effect() {}

// Apply returns the taints after the update and reports whether they changed.
func (u *UpdateTaints) Apply(current []model.TimedTaint) (out []model.TimedTaint, changed bool) {
	for _, t := range current {
		if contains(u.Remove, &t.Taint) {
			changed = true
			continue
		}
		out = append(out, t)
	}
	for _, t := range u.Add {
		if !hasTaint(out, &t.Taint) {
			out, changed = append(out, t), true
		}
	}
	return out, changed
}

func contains(list []model.Taint, t *model.Taint) bool {
	for i := range list {
		if list[i].Key == t.Key && list[i].Effect == t.Effect {
			return true
		}
	}
	return false
}

func hasTaint(list []model.TimedTaint, t *model.Taint) bool {
	for i := range list {
		if list[i].Key == t.Key && list[i].Effect == t.Effect {
			return true
		}
	}
	return false
}
