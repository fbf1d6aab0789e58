package execution

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// stepReplacement tracks the replacement of an evicted pod.
func (t *step) stepReplacement(x *Move) {
	victim := t.v.Pod(x.Pod.UID)
	if victim == nil && x.deletedAt.IsZero() {
		x.deletedAt = t.now
	}
	if r := x.Replacement; r != nil && x.Stage >= Replaced {
		if current := t.v.Pod(r.UID); current == nil || current.Deleting { // the controller creates another replacement
			x.siblingsBefore[r.UID] = true
			x.Replacement, x.recorded = nil, false
			x.setStage(Terminating, t.now)
			if victim == nil {
				x.deletedAt = t.now
			}
		}
	}
	if r := x.findReplacement(t.v); r != nil {
		x.Replacement = r
		switch {
		case r.NodeName == "" && x.Stage != Replaced:
			x.setStage(Replaced, t.now)
		case r.NodeName != "" && x.Stage != Placed:
			x.setStage(Placed, t.now)
			x.placementOutcome = x.outcomeOn(r.NodeName)
		}
	}
	t.extendHold(x)
	switch x.Stage {
	case Terminating:
		t.stepNotReplaced(x, victim)
	case Replaced:
		t.stepUnscheduled(x, victim)
	case Placed:
		t.stepPlaced(x)
	}
}

// extendHold extends the Hold of a pod that terminates slowly.
func (t *step) extendHold(x *Move) {
	margin := t.m.o.Timeouts.Scheduling / 2
	if x.hold == nil || x.Stage > Replaced || !t.isDue(x.hold.Until.Add(-margin)) {
		return
	}
	h := *x.hold
	h.Until = t.now.Add(t.m.holdDuration())
	x.hold = &h
	t.emit(func(id uint64) Action { return Reserve{id, x, &h} }, func(now time.Time, a Result) {
		if !a.Done && x.hold == &h {
			h.Until = now.Add(margin + evictionRetryInterval)
		}
	})
}

// replacementIn returns the replacement that v contains, or nil.
func (x *Move) replacementIn(v *View) *model.Pod {
	if x.siblingsBefore == nil {
		return nil
	}
	if victim := v.Pod(x.Pod.UID); x.Stage < Terminating && victim != nil && !victim.Deleting {
		return nil
	}
	return x.findReplacement(v)
}

// findReplacement returns the pod that replaces the evicted one: a pod of the owner that did
// not exist before the eviction, with the same name for a StatefulSet. It prefers one on the
// planned node, then a scheduled one, then the oldest.
func (x *Move) findReplacement(v *View) *model.Pod {
	var best *model.Pod
	rank := func(p *model.Pod) int {
		switch p.NodeName {
		case "":
			return 2
		case x.To:
			return 0
		}
		return 1
	}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		if x.siblingsBefore[p.UID] || p.UID == x.Pod.UID || p.Deleting || x.Pod.Owner.Kind == "StatefulSet" && p.Name != x.Pod.Name {
			continue
		}
		if best == nil || rank(p) < rank(best) {
			best = p
		}
	}
	return best
}

func (x *Move) outcomeOn(node string) Outcome {
	switch {
	case node == x.From:
		return Returned
	case node == x.To || slices.Contains(x.TopNodes, node):
		return Moved
	}
	return PlacedElsewhere
}

// stepNotReplaced waits for a replacement.
func (t *step) stepNotReplaced(x *Move, victim *model.Pod) {
	p := &t.m.o.Timeouts
	switch {
	case victim != nil && !victim.Deleting: // the eviction was granted, but the pod was not deleted
		if t.isDue(x.Evicted.Add(p.EvictionObserved)) {
			x.withdraw(t.now, "its eviction was granted, but the pod was not deleted", placementRetryInterval)
		}
	case victim != nil:
		if t.isDue(x.Evicted.Add(gracePeriod(victim) + p.Termination + p.Replacement)) {
			t.failWorkload(x, NotReplaced, "it did not terminate within its grace period")
		}
	case t.isDue(x.deletedAt.Add(p.Replacement)):
		t.failWorkload(x, NotReplaced, fmt.Sprintf("%s %s created no replacement within %s", x.Pod.Owner.Kind, x.Pod.Owner.Name, p.Replacement))
	}
}

func gracePeriod(p *model.Pod) time.Duration { return time.Duration(p.GraceSeconds) * time.Second }

// stepUnscheduled waits until the replacement is scheduled. The terminating pod itself may
// prevent that.
func (t *step) stepUnscheduled(x *Move, victim *model.Pod) {
	p := &t.m.o.Timeouts
	at := x.Since.Add(p.Scheduling)
	if victim != nil {
		at = order.Max(at, x.Evicted.Add(gracePeriod(victim)+p.Termination))
	} else {
		at = order.Max(at, x.deletedAt.Add(p.Scheduling))
	}
	if t.isDue(at) {
		t.failMove(x, Unscheduled, fmt.Sprintf("its replacement %s was not scheduled within %s", x.Replacement.Key(), p.Scheduling))
	}
}

// stepPlaced waits until the replacement is Ready, unless it returned to the node that the pod
// left.
func (t *step) stepPlaced(x *Move) {
	r := x.Replacement
	if !x.recorded {
		x.recorded = true
		switch x.placementOutcome {
		case Returned:
			t.failMove(x, Returned, fmt.Sprintf("%s, the replacement of %s, was scheduled to %s again", r.Key(), x.Pod.Key(), x.From))
			return
		case PlacedElsewhere:
			x.Reason = fmt.Sprintf("its replacement was scheduled to %s", r.NodeName)
			t.m.o.Backoff.RecordFailure(t.now, planning.MoveKey(x.Move), x.Reason+" instead of "+x.To)
		}
	}
	switch {
	case r.Ready:
		x.end(t.now, x.placementOutcome, x.Reason)
	case t.isDue(x.Since.Add(t.m.o.Timeouts.Ready)):
		t.failWorkload(x, NotReady, fmt.Sprintf("its replacement %s was not Ready within %s", r.Key(), t.m.o.Timeouts.Ready))
	}
}

// failWorkload ends a move after which the workload lacks a Ready pod, and backs off all moves of
// the workload.
func (t *step) failWorkload(x *Move, o Outcome, reason string) {
	t.m.o.Backoff.RecordFailure(t.now, planning.WorkloadKey(x.Move), fmt.Sprintf("%s was moved: %s", x.Pod.Key(), reason))
	x.end(t.now, o, reason)
}

// failMove ends a failed move and backs it off. Without reservations it also creates an Avoid
// Hold, which outlives this process and records the number of failures.
func (t *step) failMove(x *Move, o Outcome, reason string) {
	owner := x.Pod.Owner
	name := planning.AvoidHoldName(owner.UID, x.From)
	if h, exists := t.v.State.Hold(x.Pod.Namespace, name); exists {
		t.m.o.Backoff.Restore(planning.MoveKey(x.Move), int(h.Count), h.Until)
	}
	until, count := t.m.o.Backoff.RecordFailure(t.now, planning.MoveKey(x.Move), reason)
	x.end(t.now, o, reason)
	if o != Returned || x.Mode != planning.WithoutHolds || !t.m.o.Holds {
		return
	}
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: name, Type: model.Avoid, Owner: owner, Node: x.From,
		Cause: planning.HoldCause, Count: int32(count), Created: t.now, Until: until, Victim: x.Pod.UID, VictimName: x.Pod.Name}
	t.emit(func(id uint64) Action { return Avoid{id, x, h} }, func(time.Time, Result) {})
}
