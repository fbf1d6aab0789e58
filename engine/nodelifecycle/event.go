package nodelifecycle

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Event is something that a machine is told: a Node as it is now, or one of those below.
type Event interface{ event() }

// NodeDeleted says that there is no such node any more.
type NodeDeleted struct{ Node string }

// LeaseRenewed is a node's Lease as it is now.
type LeaseRenewed struct {
	Node string
	Time time.Time // spec.renewTime, by the node's clock
}

// Outcome says that an effect was carried out, or not.
type Outcome struct {
	Node, UID string
	// IsTaintUpdate: it was a Retaint; else a MarkUnknown.
	IsTaintUpdate bool
	Failed        bool
}

func (Node) event()         {}
func (NodeDeleted) event()  {}
func (LeaseRenewed) event() {}
func (Outcome) event()      {}

// Effect is something to be done. Each gets one Outcome.
type Effect interface{ effect() }

// MarkUnknown asks for conditions of a silent node to be written. Silent is since when
// there was no sign of life; Renewed is renewTime of its Lease as it was known then, zero if there was none:
// whoever knows a later one lets the node be.
type MarkUnknown struct {
	Node, UID   string
	SilentSince time.Time
	Renewed     time.Time
	Conditions  []Condition // whole, as they are to be; others stay
}

// UpdateTaints asks for taints to be put on and taken off. A taint is the same if key
// and effect are.
type UpdateTaints struct {
	Node, UID string
	Add       []model.TimedTaint
	Remove    []model.Taint
	// QueueTime is how long the node waited in its zone's line, if Add has the NoExecute taint for that; else 0.
	QueueTime time.Duration
}

func (MarkUnknown) effect()  {}
func (UpdateTaints) effect() {}

// Apply is what a Retaint makes of taints: what is to go goes, what is to come
// and is not there follows the others. It says whether that is a change.
func (r *UpdateTaints) Apply(have []model.TimedTaint) (out []model.TimedTaint, changed bool) {
	for _, t := range have {
		if contains(r.Remove, &t.Taint) {
			changed = true
			continue
		}
		out = append(out, t)
	}
	for _, t := range r.Add {
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
