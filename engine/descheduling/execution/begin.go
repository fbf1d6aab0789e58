package execution

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// Retry intervals of a move that cannot start or whose eviction was refused. A placement check
// is expensive, so its interval doubles after each failure.
const (
	retryInterval             = time.Second
	placementRetryInterval    = 5 * time.Second
	maxPlacementRetryInterval = 80 * time.Second
	evictionRetryInterval     = time.Second
)

// begin starts a waiting move if nothing blocks it, or abandons it.
func (t *step) begin(x *Move) {
	if !t.isDue(x.notBefore) {
		return
	}
	pod := t.v.Pod(x.Pod.UID)
	switch {
	case x.Cleanup():
		t.cleanUp(x)
		return
	case pod == nil:
		x.abandon(t.now, "the pod was deleted by another client")
		return
	case pod.Deleting:
		x.abandon(t.now, "the pod is being deleted by another client")
		return
	case pod.NodeName != x.From:
		x.abandon(t.now, "it is on node "+pod.NodeName+", not on "+x.From)
		return
	case t.stopped[x.Pod.Owner.UID] != "":
		x.abandon(t.now, t.stopped[x.Pod.Owner.UID])
		return
	case t.m.o.Timeouts.Plan > 0 && t.now.Sub(t.m.plannedAt) >= t.m.o.Timeouts.Plan:
		x.abandon(t.now, fmt.Sprintf("the plan is more than %s old: %s", t.m.o.Timeouts.Plan, cmp.Or(x.Reason, "waiting for other moves")))
		return
	}
	// blockedByMove scans a workload, so blockedByParallelism comes first.
	for _, blocked := range []func(*Move) string{t.blockedByParallelism, t.blockedByMove, t.blockedByHold} {
		if reason := blocked(x); reason != "" {
			t.wait(x, reason, retryInterval)
			return
		}
	}
	if reason := t.openLedger().check(t.now, pod); reason != "" {
		t.waitForBudget(x, reason)
		return
	}
	if t.placementChecks >= t.m.o.Parallel {
		t.wait(x, "waiting for the checks of other moves", retryInterval)
		return
	}
	t.placementChecks++
	if reason, final := t.forksFor(x.Mode).checkPlacement(t.now, x); reason != "" {
		if final || !t.m.pendingBefore(x) {
			x.abandon(t.now, reason)
			return
		}
		t.wait(x, reason, min(placementRetryInterval<<min(x.placementFailures, 8), maxPlacementRetryInterval))
		x.placementFailures++
		return
	}
	t.start(x)
}

// wait delays the move by d.
func (t *step) wait(x *Move, reason string, d time.Duration) {
	x.Reason, x.notBefore = reason, t.now.Add(d)
	t.wakeAt(x.notBefore)
}

// waitForBudget delays a move that a budget refuses, and abandons it after Timeouts.Budget.
func (t *step) waitForBudget(x *Move, reason string) {
	if x.deniedSince.IsZero() {
		x.deniedSince = t.now
	}
	if t.now.Sub(x.deniedSince) >= t.m.o.Timeouts.Budget {
		x.abandon(t.now, fmt.Sprintf("not allowed within %s: %s", t.m.o.Timeouts.Budget, reason))
		return
	}
	t.wait(x, reason, retryInterval)
}

// blockedByMove returns why the move's workload is not ready for another eviction: a move of
// one of its pods is in progress, or blockedByWorkload has a reason; "" if it is ready.
func (t *step) blockedByMove(x *Move) string {
	if move := t.movesByOwner[x.Pod.Owner.UID]; move != nil {
		return "the move of " + move.Pod.Key() + " of the same workload is in progress"
	}
	return t.blockedByWorkload(x)
}

// blockedByWorkload returns a message about another pod of the workload that is unscheduled or
// not Ready, or "".
func (t *step) blockedByWorkload(x *Move) string {
	for _, p := range t.v.OwnedBy(x.Pod.Owner) {
		switch {
		case p.UID == x.Pod.UID || p.Deleting:
		case p.NodeName == "":
			return "a pod of the same workload, " + p.Key() + ", is unscheduled"
		case !p.Ready && t.now.Sub(p.Created) < t.m.o.Timeouts.Ready:
			return "a pod of the same workload, " + p.Key() + ", is not Ready yet"
		}
	}
	return ""
}

// blockedByParallelism returns why no further move may start now, or "".
func (t *step) blockedByParallelism(x *Move) string {
	switch {
	case t.exclusive, x.Mode == planning.WithoutHolds && (t.unplaced > 0 || t.terminating):
		return "another moved pod is terminating or its replacement is unscheduled, and nodes cannot be reserved"
	case t.unplaced >= t.m.o.Parallel:
		return fmt.Sprintf("%d moves are in progress", t.unplaced)
	}
	return ""
}

// blockedByHold returns a message about an earlier Hold that has the name of the reservation to
// create, or "". That Hold must be deleted first: only pods younger than the Hold count as the replacement.
func (t *step) blockedByHold(x *Move) string {
	if x.Mode == planning.WithoutHolds {
		return ""
	}
	name := cluster.HoldName(x.Pod.Owner.UID, x.To, model.Reserve)
	if _, exists := t.v.State.Hold(x.Pod.Namespace, name); exists {
		return "Hold " + name + " of an earlier move still exists"
	}
	return ""
}

// start starts a move that nothing blocks.
func (t *step) start(x *Move) {
	x.Reason = ""
	t.addToForks(x)
	if x.Mode == planning.WithoutHolds {
		x.setStage(Evicting, t.now)
		t.countInProgress(x)
		t.evict(x)
		return
	}
	x.recordSiblings(t.v) // the pod may be deleted and replaced by others before the next Step
	x.hold = t.newReservation(x)
	x.setStage(Holding, t.now)
	t.countInProgress(x)
	t.openLedger().debit(t.now, x.Pod)
	t.emit(func(id uint64) Action { return Reserve{id, x, x.hold} }, func(now time.Time, a Result) {
		switch {
		case x.Stage != Holding:
		case a.Done:
			x.holdCreated = true
		case a.Permanent:
			x.abandon(now, "its node cannot be reserved: "+a.Message)
		default:
			x.withdraw(now, "its node could not be reserved: "+a.Message, placementRetryInterval)
		}
	})
}

// newReservation returns the Reserve Hold for the node of a move.
func (t *step) newReservation(x *Move) *model.Hold {
	o := x.Pod.Owner
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: cluster.HoldName(o.UID, x.To, model.Reserve), Type: model.Reserve, Owner: o, Node: x.To,
		Cause: planning.HoldCause, Count: 1, Created: t.now, Until: t.now.Add(t.m.holdDuration()), Victim: x.Pod.UID, VictimName: x.Pod.Name}
	h.Placeholder = &model.Pod{Namespace: h.Namespace, Name: h.Name, UID: "hold/" + h.Key(), Labels: x.Pod.Labels, Spec: x.Pod.Spec, NominatedNodeName: h.Node,
		Created: h.Created, Owner: o, Placeholder: true}
	return h
}

// holdDuration returns the initial lifetime of a Hold: long enough for most pods to terminate,
// be replaced and be scheduled.
func (m *Machine) holdDuration() time.Duration {
	p := &m.o.Timeouts
	return p.EvictionRetry + p.Termination + p.Replacement + p.Scheduling
}

// cleanUp deletes a finished pod, which needs no budget and no capacity. At most Parallel of
// them are deleted in a Step, so that moves are not delayed.
func (t *step) cleanUp(x *Move) {
	if t.cleaned++; t.cleaned > t.m.o.Parallel {
		return // the results trigger another Step
	}
	x.setStage(Evicting, t.now)
	t.evict(x)
}

// pendingBefore reports whether an earlier move of the plan has not finished.
func (m *Machine) pendingBefore(x *Move) bool {
	for _, y := range m.moves {
		if y == x {
			return false
		}
		if y.Stage != Finished && !y.Cleanup() {
			return true
		}
	}
	return false
}
