package evacuation

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// observePlaced implements policy: it waits until the replacement is Ready, unless it returned to the node that the pod
// left.
func (d *Planned) observePlaced(t *step, x *Move) {
	r := x.Replacement
	outcome := x.outcomeOn(r.NodeName)
	if !x.recorded {
		x.recorded = true
		switch outcome {
		case Returned:
			d.failMove(t, x, Returned, fmt.Sprintf("%s, the replacement of %s, was scheduled to %s again", r.Key(), x.Pod.Key(), x.From))
			return
		case PlacedElsewhere:
			x.Reason = fmt.Sprintf("its replacement was scheduled to %s", r.NodeName)
			d.o.Backoff.RecordFailure(t.now, planning.MoveKey(x.Planned), x.Reason+" instead of "+x.Planned.To)
		}
	}
	switch {
	case r.Ready:
		x.end(t.now, outcome, x.Reason)
	case t.isOver(x.Since, d.timeouts.Ready):
		d.failWorkload(t.now, x, NotReady, fmt.Sprintf("its replacement %s was not Ready within %s", r.Key(), d.timeouts.Ready))
	}
}

func (x *Move) outcomeOn(node string) Outcome {
	switch {
	case node == x.From:
		return Returned
	case node == x.Planned.To || slices.Contains(x.Planned.TopNodes, node):
		return Moved
	}
	return PlacedElsewhere
}

// fail implements policy.
func (d *Planned) fail(t *step, x *Move, o Outcome, reason string) {
	if o == NotReplaced {
		d.failWorkload(t.now, x, o, reason)
		return
	}
	d.failMove(t, x, o, reason)
}

// failWorkload ends a move after which the workload lacks a Ready pod, and backs off all moves of the workload.
func (d *Planned) failWorkload(now time.Time, x *Move, o Outcome, reason string) {
	d.o.Backoff.RecordFailure(now, planning.WorkloadKey(x.Planned), fmt.Sprintf("%s was moved: %s", x.Pod.Key(), reason))
	x.end(now, o, reason)
}

// failMove ends a failed move and backs it off. Without reservations it also creates an Avoid Hold, which outlives this
// process and records the number of failures.
func (d *Planned) failMove(t *step, x *Move, o Outcome, reason string) {
	owner, key := x.Pod.Owner, planning.MoveKey(x.Planned)
	name := planning.AvoidHoldName(owner.UID, x.From)
	if h, exists := d.view.State.Hold(x.Pod.Namespace, name); exists {
		d.o.Backoff.Restore(key, int(h.Count), h.Until)
	}
	until, count := d.o.Backoff.RecordFailure(t.now, key, reason)
	x.end(t.now, o, reason)
	if o != Returned || x.Planned.Mode != planning.WithoutHolds || !d.o.Holds {
		return
	}
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: name, Type: model.Avoid, Owner: owner, Node: x.From,
		Cause: planning.HoldCause, Count: int32(count), Created: t.now, Until: until, Victim: x.Pod.UID, VictimName: x.Pod.Name}
	t.emit(Action{Kind: Avoid, Move: x, Hold: h}, func(time.Time, Result) {})
}
