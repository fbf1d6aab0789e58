package nodehealth

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Event is something that a machine is told: a Node as it is now, or one of those below.
type Event interface{ event() }

// Gone says that there is no such node any more.
type Gone struct{ Node string }

// Renewed is a node's Lease as it is now.
type Renewed struct {
	Node string
	Time time.Time // spec.renewTime, by the node's clock
}

// Outcome says that an effect was carried out, or not.
type Outcome struct {
	Node, UID string
	// Taints: it was a Retaint; else a MarkUnknown.
	Taints bool
	Failed bool
}

func (Node) event()    {}
func (Gone) event()    {}
func (Renewed) event() {}
func (Outcome) event() {}

// Effect is something to be done. Each gets one Outcome.
type Effect interface{ effect() }

// MarkUnknown asks for conditions of a silent node to be written. Silent is since when
// there was no sign of life; Renewed is renewTime of its Lease as it was known then, zero if there was none:
// whoever knows a later one lets the node be.
type MarkUnknown struct {
	Node, UID  string
	Silent     time.Time
	Renewed    time.Time
	Conditions []Condition // whole, as they are to be; others stay
}

// Retaint asks for taints to be put on and taken off. A taint is the same if key
// and effect are.
type Retaint struct {
	Node, UID string
	Add       []model.TimedTaint
	Remove    []model.Taint
	// Line is how long the node waited in its zone's line, if Add has the NoExecute taint for that; else 0.
	Line time.Duration
}

func (MarkUnknown) effect() {}
func (Retaint) effect()     {}

// Apply is what a Retaint makes of taints: what is to go goes, what is to come
// and is not there follows the others. It says whether that is a change.
func (r *Retaint) Apply(have []model.TimedTaint) (out []model.TimedTaint, changed bool) {
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
