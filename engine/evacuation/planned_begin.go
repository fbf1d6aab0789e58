package evacuation

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// Delays between checks of the placement of a move. The check is expensive, so the delay doubles after each failure.
const (
	placementRetryInterval    = 5 * time.Second
	maxPlacementRetryInterval = 80 * time.Second
)

// beginMove starts a waiting move if nothing blocks it. It abandons a move that can no longer start.
func (d *Planned) beginMove(t *step, x *Move) {
	if !t.isDue(x.notBefore) {
		return
	}
	if x.Cleanup() {
		d.cleanUp(t, x)
		return
	}
	if reason := d.abandonReason(t, x); reason != "" {
		x.end(t.now, Abandoned, reason)
		return
	}
	// blockedByParallelism comes before blockedByMove, which scans a workload.
	for _, blocked := range []func(*step, *Move) string{d.blockedByParallelism, d.blockedByMove, d.blockedByHold} {
		if reason := blocked(t, x); reason != "" {
			t.wait(x, reason, retryInterval)
			return
		}
	}
	if reason := d.deniedByBudget(t, d.view.Pod(x.Pod.UID)); reason != "" {
		d.waitForBudget(t, x, reason)
		return
	}
	if d.step.placementChecks >= d.o.Parallel {
		t.wait(x, "waiting for the checks of other moves", retryInterval)
		return
	}
	d.step.placementChecks++
	if reason, final := d.forksFor(t, x.Planned.Mode).checkPlacement(t.now, x); reason != "" {
		if final || !d.pendingBefore(x) {
			x.end(t.now, Abandoned, reason)
			return
		}
		t.wait(x, reason, min(placementRetryInterval<<min(x.placementFailures, 8), maxPlacementRetryInterval))
		x.placementFailures++
		return
	}
	d.start(t, x)
}

// abandonReason returns why a waiting move can no longer start, or "".
func (d *Planned) abandonReason(t *step, x *Move) string {
	pod := d.view.Pod(x.Pod.UID)
	switch {
	case pod == nil:
		return "the pod was deleted by another client"
	case pod.Deleting:
		return "the pod is being deleted by another client"
	case pod.NodeName != x.From:
		return "it is on node " + pod.NodeName + ", not on " + x.From
	case d.step.stopped[x.Pod.Owner.UID] != "":
		return d.step.stopped[x.Pod.Owner.UID]
	case d.timeouts.Plan > 0 && t.now.Sub(d.plannedAt) >= d.timeouts.Plan:
		return fmt.Sprintf("the plan is more than %s old: %s", d.timeouts.Plan, cmp.Or(x.Reason, "waiting for other moves"))
	}
	return ""
}

// waitForBudget delays a move that a budget does not allow, and abandons it after Timeouts.Budget.
func (d *Planned) waitForBudget(t *step, x *Move, reason string) {
	if x.deniedSince.IsZero() {
		x.deniedSince = t.now
	}
	if t.now.Sub(x.deniedSince) >= d.timeouts.Budget {
		x.end(t.now, Abandoned, fmt.Sprintf("not allowed within %s: %s", d.timeouts.Budget, reason))
		return
	}
	t.wait(x, reason, retryInterval)
}

// blockedByMove returns why the move's workload is not ready for another eviction, or "" if it is ready. The possible
// reasons are a move of one of its pods in progress, and those of blockedByWorkload.
func (d *Planned) blockedByMove(t *step, x *Move) string {
	if move := d.step.movesByOwner[x.Pod.Owner.UID]; move != nil {
		return "the move of " + move.Pod.Key() + " of the same workload is in progress"
	}
	return d.blockedByWorkload(t, x)
}

// blockedByWorkload returns a message about another pod of the workload that is unscheduled or not Ready, or "". It
// ignores pods that are not Ready within Timeouts.Ready of their creation.
func (d *Planned) blockedByWorkload(t *step, x *Move) string {
	for _, p := range d.view.OwnedBy(x.Pod.Owner) {
		switch {
		case p.UID == x.Pod.UID || p.Deleting:
		case p.NodeName == "":
			return "a pod of the same workload, " + p.Key() + ", is unscheduled"
		case !p.Ready && t.now.Sub(p.Created) < d.timeouts.Ready:
			return "a pod of the same workload, " + p.Key() + ", is not Ready yet"
		}
	}
	return ""
}

// blockedByParallelism returns why no further move may start now, or "".
func (d *Planned) blockedByParallelism(_ *step, x *Move) string {
	switch s := &d.step; {
	case s.exclusive, x.Planned.Mode == planning.WithoutHolds && (s.unplaced > 0 || s.terminating):
		return "another moved pod is terminating or its replacement is unscheduled, and nodes cannot be reserved"
	case s.unplaced >= d.o.Parallel:
		return fmt.Sprintf("%d moves are in progress", s.unplaced)
	}
	return ""
}

// blockedByHold returns a message about an earlier Hold that has the name of the reservation to create, or "". That Hold
// must be deleted first: only pods younger than the Hold count as the replacement.
func (d *Planned) blockedByHold(_ *step, x *Move) string {
	if x.Planned.Mode == planning.WithoutHolds {
		return ""
	}
	name := cluster.HoldName(x.Pod.Owner.UID, x.Planned.To, model.Reserve)
	if _, exists := d.view.State.Hold(x.Pod.Namespace, name); exists {
		return "Hold " + name + " of an earlier move still exists"
	}
	return ""
}

// start starts a move that nothing blocks.
func (d *Planned) start(t *step, x *Move) {
	x.Reason = ""
	for _, f := range d.step.forks {
		if f != nil {
			f.addReplacement(x)
		}
	}
	if x.Planned.Mode == planning.WithHolds {
		d.reserve(t, x)
	} else {
		x.setStage(Evicting, t.now)
		t.evict(Action{Kind: Evict, Move: x})
	}
	d.countInProgress(x)
}

// cleanUp deletes a finished pod, which needs no budget and no capacity. It deletes at most Parallel of them in a Step,
// so that they do not delay moves.
func (d *Planned) cleanUp(t *step, x *Move) {
	if d.step.cleaned++; d.step.cleaned > d.o.Parallel {
		return // the results trigger another Step
	}
	x.setStage(Evicting, t.now)
	t.evict(Action{Kind: Evict, Move: x})
}

// pendingBefore reports whether an earlier move of the plan has not finished.
func (d *Planned) pendingBefore(x *Move) bool {
	for _, y := range d.moves {
		if y == x {
			return false
		}
		if y.Stage != Finished && !y.Cleanup() {
			return true
		}
	}
	return false
}
