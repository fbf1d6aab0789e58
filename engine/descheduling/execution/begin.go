package execution

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// How long a move that something stands in the way of is not looked at again: its budget or its workload, and its
// place, which costs more to look at, and twice as long each time. An eviction that was refused is asked for again
// after askAgain.
const (
	retryInterval             = time.Second
	placementRetryInterval    = 5 * time.Second
	maxPlacementRetryInterval = 80 * time.Second
	evictionRetryInterval     = time.Second
)

// begin begins a move if nothing stands in its way, or gives it up.
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
		x.abandon(t.now, "it is gone without our doing")
		return
	case pod.Deleting:
		x.abandon(t.now, "it is on its way out without our doing")
		return
	case pod.NodeName != x.From:
		x.abandon(t.now, "it is on node "+pod.NodeName)
		return
	case t.stopped[x.Pod.Owner.UID] != "":
		x.abandon(t.now, t.stopped[x.Pod.Owner.UID])
		return
	case t.m.o.Timeouts.Plan > 0 && t.now.Sub(t.m.plannedAt) >= t.m.o.Timeouts.Plan:
		x.abandon(t.now, fmt.Sprintf("it was planned more than %s ago, when the cluster was another: %s", t.m.o.Timeouts.Plan, cmp.Or(x.Reason, "its turn has not come")))
		return
	}
	for _, stands := range []func(*Move) string{t.blockedByParallelism, t.blockedByMove, t.blockedByHold} { // one by one: the second goes through a workload
		if why := stands(x); why != "" {
			t.wait(x, why, retryInterval)
			return
		}
	}
	if why := t.openLedger().check(t.now, pod); why != "" {
		t.deniedByBudget(x, why)
		return
	}
	if t.placementsTried >= t.m.o.Parallel {
		t.wait(x, "others are looked at first", retryInterval)
		return
	}
	t.placementsTried++
	if why, final := t.forksFor(x.Mode).checkPlacement(t.now, x); why != "" {
		if final || !t.m.pendingBefore(x) {
			x.abandon(t.now, why)
			return
		}
		t.wait(x, why, min(placementRetryInterval<<min(x.placementFailures, 8), maxPlacementRetryInterval))
		x.placementFailures++
		return
	}
	t.start(x)
}

// wait has a move wait.
func (t *step) wait(x *Move, why string, d time.Duration) {
	x.Reason, x.notBefore = why, t.now.Add(d)
	t.wakeAt(x.notBefore)
}

// deniedByBudget has a move wait for a budget, or gives it up when that took too long.
func (t *step) deniedByBudget(x *Move, why string) {
	if x.deniedSince.IsZero() {
		x.deniedSince = t.now
	}
	if t.now.Sub(x.deniedSince) >= t.m.o.Timeouts.Budget {
		x.abandon(t.now, fmt.Sprintf("in %s it was not allowed to go: %s", t.m.o.Timeouts.Budget, why))
		return
	}
	t.wait(x, why, retryInterval)
}

// blockedByMove says whether the workload of a pod has to come to rest first: another pod of it is being moved, has no node,
// or was started not long ago and is not Ready.
func (t *step) blockedByMove(x *Move) string {
	if y := t.busy[x.Pod.Owner.UID]; y != nil {
		return "the move of " + y.Pod.Key() + " of the same workload is under way"
	}
	return t.blockedByWorkload(x)
}

// blockedByWorkload is paced, of what is not our doing.
func (t *step) blockedByWorkload(x *Move) string {
	for _, p := range t.v.OwnedBy(x.Pod.Owner) {
		switch {
		case p.UID == x.Pod.UID || p.Deleting:
		case p.NodeName == "":
			return "a pod of the same workload, " + p.Key() + ", waits for a node"
		case !p.Ready && t.now.Sub(p.Created) < t.m.o.Timeouts.Ready:
			return "a pod of the same workload, " + p.Key() + ", is not Ready yet"
		}
	}
	return ""
}

// blockedByParallelism says whether as many moves are under way as may be.
func (t *step) blockedByParallelism(x *Move) string {
	switch {
	case t.exclusive, x.Mode == planning.WithoutHolds && (t.unplaced > 0 || t.terminating):
		return "another pod has not left, or its replacement has no node yet, and no place can be held"
	case t.unplaced >= t.m.o.Parallel:
		return fmt.Sprintf("%d moves are under way", t.unplaced)
	}
	return ""
}

// blockedByHold says whether there is a Hold already where one is to be made: of an earlier move, or a former process. It has
// to be deleted first, as what counts as the replacement is who is younger than the Hold.
func (t *step) blockedByHold(x *Move) string {
	if x.Mode == planning.WithoutHolds {
		return ""
	}
	name := cluster.HoldName(x.Pod.Owner.UID, x.To, model.Reserve)
	if _, there := t.v.State.Hold(x.Pod.Namespace, name); there {
		return "Hold " + name + " of an earlier move is still there"
	}
	return ""
}

// start begins a move that nothing stands in the way of.
func (t *step) start(x *Move) {
	x.Reason = ""
	t.bookMove(x)
	if x.Mode == planning.WithoutHolds {
		x.setStage(Evicting, t.now)
		t.countInProgress(x)
		t.evict(x)
		return
	}
	x.recordSiblings(t.v) // it may leave without our doing, and be replaced, before it is looked at again
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
			x.abandon(now, "its place cannot be held: "+a.Message)
		default:
			x.withdraw(now, "its place could not be held: "+a.Message, placementRetryInterval)
		}
	})
}

// newReservation is the Hold of a move's place.
func (t *step) newReservation(x *Move) *model.Hold {
	o := x.Pod.Owner
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: cluster.HoldName(o.UID, x.To, model.Reserve), Type: model.Reserve, Owner: o, Node: x.To,
		Cause: planning.HoldCause, Count: 1, Created: t.now, Until: t.now.Add(t.m.holdDuration()), Victim: x.Pod.UID, VictimName: x.Pod.Name}
	h.Placeholder = &model.Pod{Namespace: h.Namespace, Name: h.Name, UID: "hold/" + h.Key(), Labels: x.Pod.Labels, Spec: x.Pod.Spec, NominatedNodeName: h.Node,
		Created: h.Created, Owner: o, Placeholder: true}
	return h
}

// holdDuration is how long a Hold is good for: as long as most pods take to leave, their owners to replace them, and
// replacements to get a node.
func (m *Machine) holdDuration() time.Duration {
	p := &m.o.Timeouts
	return p.EvictionRetry + p.Termination + p.Replacement + p.Scheduling
}

// cleanUp removes a finished pod. It takes no room, and no budget asks for it.
// At once go as many as moves may, so that those are not kept waiting.
func (t *step) cleanUp(x *Move) {
	if t.cleaned++; t.cleaned > t.m.o.Parallel {
		return // the answers have Step called again
	}
	x.setStage(Evicting, t.now)
	t.evict(x)
}

// pendingBefore says whether an earlier move of the plan is still to come, or to come to its end.
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
