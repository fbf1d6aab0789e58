package evacuation

import (
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// releaseRetryInterval is the interval between attempts to release a Hold. The view may still
// contain a released Hold for that long.
const releaseRetryInterval = 5 * time.Second

// reserve creates the Hold of a move.
func (d *Planned) reserve(t *step, x *Move) {
	x.recordSiblings(d.view) // the pod may be deleted and replaced by others before the next Step
	o, to := x.Pod.Owner, x.Planned.To
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: cluster.HoldName(o.UID, to, model.Reserve), Type: model.Reserve, Owner: o, Node: to,
		Cause: planning.HoldCause, Count: 1, Created: t.now, Until: t.now.Add(d.holdDuration()), Victim: x.Pod.UID, VictimName: x.Pod.Name}
	h.Placeholder = &model.Pod{Namespace: h.Namespace, Name: h.Name, UID: "hold/" + h.Key(), Labels: x.Pod.Labels, Spec: x.Pod.Spec, NominatedNodeName: to,
		Created: h.Created, Owner: o, Placeholder: true}
	x.hold = h
	x.setStage(Holding, t.now)
	d.debit(t, x)
	t.emit(Action{Kind: Reserve, Move: x, Hold: h}, func(now time.Time, r Result) {
		switch {
		case x.Stage != Holding:
		case r.Done:
			x.holdCreated = true
		case r.Permanent:
			d.withdraw(now, x, "its node cannot be reserved: "+r.Message, true)
		default:
			d.withdraw(now, x, "its node could not be reserved: "+r.Message, false)
		}
	})
}

// holdDuration returns the initial lifetime of a Hold: long enough for most pods to terminate, be replaced and be
// scheduled.
func (d *Planned) holdDuration() time.Duration {
	p := &d.timeouts
	return p.EvictionRetry + p.Termination + p.Replacement + p.Scheduling
}

// awaitHold continues a move with the eviction once its Hold is created and observed.
func (d *Planned) awaitHold(t *step, x *Move) {
	switch {
	case !x.holdCreated:
	case d.holdExists(x):
		x.setStage(Evicting, t.now)
	case t.isOver(x.Since, d.timeouts.EvictionObserved):
		d.withdraw(t.now, x, "its Hold was created but is not observed", false)
	}
}

func (d *Planned) holdExists(x *Move) bool {
	h, exists := d.view.State.Hold(x.hold.Namespace, x.hold.Name)
	return exists && h.Victim == x.hold.Victim
}

// holdInvalid returns why the reservation of a pod that still exists is no longer valid, or "".
func (d *Planned) holdInvalid(t *step, x *Move) string {
	switch {
	case x.hold == nil:
		return ""
	case !d.holdExists(x):
		return "its Hold was deleted"
	case !x.hold.Until.After(t.now.Add(d.timeouts.Scheduling / 2)):
		return "its reservation is about to expire before the eviction could be requested"
	}
	return ""
}

// extendHold extends the Hold of a pod that terminates slowly.
func (d *Planned) extendHold(t *step, x *Move) {
	margin := d.timeouts.Scheduling / 2
	if x.hold == nil || x.Stage != Terminating && x.Stage != Replaced || !t.isDue(x.hold.Until.Add(-margin)) {
		return
	}
	h := *x.hold
	h.Until = t.now.Add(d.holdDuration())
	x.hold = &h
	t.emit(Action{Kind: Reserve, Move: x, Hold: &h}, func(now time.Time, r Result) {
		if !r.Done && x.hold == &h {
			h.Until = now.Add(margin + retryInterval)
		}
	})
}

// releaseHolds deletes the descheduler's Holds that are no longer needed: they expired, their move finished, or a
// previous process created them. An expired Avoid Hold is kept until its failure count no longer matters
// (planning.MoveBackoff). A reservation whose pod was deleted is kept until the replacement has used it or it expires.
func (d *Planned) releaseHolds(t *step) {
	for _, h := range d.view.State.Holds() {
		if !planning.IsHoldCause(h.Cause) || h.Type != model.Reserve && !t.isDue(h.Until.Add(d.o.Backoff.Max)) {
			continue
		}
		reason := d.releaseReason(t.now, h)
		if reason == "" {
			t.wakeAt(h.Until)
			continue
		}
		// The key includes the victim: the Holds of two pods of a workload that move to one node have the same name.
		key := h.Key() + " " + h.Victim
		if t.isDue(d.releaseRetry[key]) {
			d.releaseRetry[key] = t.now.Add(releaseRetryInterval)
			t.wakeAt(d.releaseRetry[key])
			t.emit(Action{Kind: Release, Hold: h, Reason: reason}, func(time.Time, Result) {})
		}
	}
	for key, at := range d.releaseRetry { // in any order
		if !t.now.Before(at.Add(releaseRetryInterval)) {
			delete(d.releaseRetry, key)
		}
	}
}

// releaseReason returns why a Hold is no longer needed, or "" if it is still needed.
func (d *Planned) releaseReason(now time.Time, h *model.Hold) string {
	if !h.Until.After(now) {
		return "it has expired"
	}
	if x := d.moveOf(h); x != nil {
		if x.Stage < Placed {
			return ""
		}
		return "its replacement is scheduled"
	}
	for _, x := range d.moves {
		switch {
		case x.Pod.UID != h.Victim:
		case x.Stage == Waiting:
			return "its move is waiting"
		default:
			return "its move has finished"
		}
	}
	victim := d.view.Pod(h.Victim)
	if victim != nil && !victim.Deleting {
		return "its pod was not evicted and is not being moved"
	}
	for _, p := range d.view.OwnedBy(h.Owner) {
		if p.UID != h.Victim && p.NodeName != "" && !p.Created.Before(h.Created) {
			return "its replacement is scheduled"
		}
	}
	return ""
}

// moveOf returns the move in progress that a Hold belongs to, or nil.
func (d *Planned) moveOf(h *model.Hold) *Move {
	for _, x := range d.moves {
		if x.hold != nil && x.hold.Key() == h.Key() && x.hold.Victim == h.Victim {
			return x
		}
	}
	return nil
}
