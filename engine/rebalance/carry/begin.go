package carry

import (
	"cmp"
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// How long a move that something stands in the way of is not looked at again: its budget or its workload, and its
// place, which costs more to look at, and twice as long each time. An eviction that was refused is asked for again
// after askAgain.
const (
	lookAgain   = time.Second
	placeAgain  = 5 * time.Second
	placeSeldom = 80 * time.Second
	askAgain    = time.Second
)

// begin begins a move if nothing stands in its way, or gives it up.
func (t *turn) begin(x *Move) {
	if !t.due(x.notBefore) {
		return
	}
	pod := t.v.Pod(x.Pod.UID)
	switch {
	case x.Cleanup():
		t.cleanUp(x)
		return
	case pod == nil:
		x.giveUp(t.now, "it is gone without our doing")
		return
	case pod.Deleting:
		x.giveUp(t.now, "it is on its way out without our doing")
		return
	case pod.NodeName != x.From:
		x.giveUp(t.now, "it is on node "+pod.NodeName)
		return
	case t.stopped[x.Pod.Owner.UID] != "":
		x.giveUp(t.now, t.stopped[x.Pod.Owner.UID])
		return
	case t.m.o.Patience.Plan > 0 && t.now.Sub(t.m.taken) >= t.m.o.Patience.Plan:
		x.giveUp(t.now, fmt.Sprintf("it was planned more than %s ago, when the cluster was another: %s", t.m.o.Patience.Plan, cmp.Or(x.Why, "its turn has not come")))
		return
	}
	for _, stands := range []func(*Move) string{t.full, t.paced, t.held} { // one by one: the second goes through a workload
		if why := stands(x); why != "" {
			t.wait(x, why, lookAgain)
			return
		}
	}
	if why := t.books().ask(t.now, pod); why != "" {
		t.denied(x, why)
		return
	}
	if t.tried >= t.m.o.Parallel {
		t.wait(x, "others are looked at first", lookAgain)
		return
	}
	t.tried++
	if why, final := t.room(x.Mode).judge(t.now, x); why != "" {
		if final || !t.m.pendingBefore(x) {
			x.giveUp(t.now, why)
			return
		}
		t.wait(x, why, min(placeAgain<<min(x.misfits, 8), placeSeldom))
		x.misfits++
		return
	}
	t.start(x)
}

// wait has a move wait.
func (t *turn) wait(x *Move, why string, d time.Duration) {
	x.Why, x.notBefore = why, t.now.Add(d)
	t.until(x.notBefore)
}

// denied has a move wait for a budget, or gives it up when that took too long.
func (t *turn) denied(x *Move, why string) {
	if x.denied.IsZero() {
		x.denied = t.now
	}
	if t.now.Sub(x.denied) >= t.m.o.Patience.Budget {
		x.giveUp(t.now, fmt.Sprintf("in %s it was not allowed to go: %s", t.m.o.Patience.Budget, why))
		return
	}
	t.wait(x, why, lookAgain)
}

// paced says whether the workload of a pod has to come to rest first: another pod of it is being moved, has no node,
// or was started not long ago and is not Ready.
func (t *turn) paced(x *Move) string {
	if y := t.busy[x.Pod.Owner.UID]; y != nil {
		return "the move of " + y.Pod.Key() + " of the same workload is under way"
	}
	return t.restless(x)
}

// restless is paced, of what is not our doing.
func (t *turn) restless(x *Move) string {
	for _, p := range t.v.Of(x.Pod.Owner) {
		switch {
		case p.UID == x.Pod.UID || p.Deleting:
		case p.NodeName == "":
			return "a pod of the same workload, " + p.Key() + ", waits for a node"
		case !p.Ready && t.now.Sub(p.Created) < t.m.o.Patience.Ready:
			return "a pod of the same workload, " + p.Key() + ", is not Ready yet"
		}
	}
	return ""
}

// full says whether as many moves are under way as may be.
func (t *turn) full(x *Move) string {
	switch {
	case t.alone, x.Mode == plan.Unheld && (t.under > 0 || t.parting):
		return "another pod has not left, or its replacement has no node yet, and no place can be held"
	case t.under >= t.m.o.Parallel:
		return fmt.Sprintf("%d moves are under way", t.under)
	}
	return ""
}

// held says whether there is a Hold already where one is to be made: of an earlier move, or a former process. It has
// to be deleted first, as what counts as the replacement is who is younger than the Hold.
func (t *turn) held(x *Move) string {
	if x.Mode == plan.Unheld {
		return ""
	}
	name := cluster.HoldName(x.Pod.Owner.UID, x.To, model.Reserve)
	if _, there := t.v.State.Hold(x.Pod.Namespace, name); there {
		return "Hold " + name + " of an earlier move is still there"
	}
	return ""
}

// start begins a move that nothing stands in the way of.
func (t *turn) start(x *Move) {
	x.Why = ""
	t.book(x)
	if x.Mode == plan.Unheld {
		x.enter(Evicting, t.now)
		t.begun(x)
		t.evict(x)
		return
	}
	x.note(t.v) // it may leave without our doing, and be replaced, before it is looked at again
	x.hold = t.reserve(x)
	x.enter(Holding, t.now)
	t.begun(x)
	t.books().pay(t.now, x.Pod)
	t.act(func(id uint64) Action { return Reserve{id, x, x.hold} }, func(now time.Time, a Answer) {
		switch {
		case x.Stage != Holding:
		case a.Done:
			x.reserved = true
		case a.Final:
			x.giveUp(now, "its place cannot be held: "+a.Words)
		default:
			x.withdraw(now, "its place could not be held: "+a.Words, placeAgain)
		}
	})
}

// reserve is the Hold of a move's place.
func (t *turn) reserve(x *Move) *model.Hold {
	o := x.Pod.Owner
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: cluster.HoldName(o.UID, x.To, model.Reserve), Type: model.Reserve, Owner: o, Node: x.To,
		Cause: plan.Cause, Count: 1, Created: t.now, Until: t.now.Add(t.m.lasts()), Victim: x.Pod.UID, VictimName: x.Pod.Name}
	h.Phantom = &model.Pod{Namespace: h.Namespace, Name: h.Name, UID: "hold/" + h.Key(), Labels: x.Pod.Labels, Spec: x.Pod.Spec, Nominated: h.Node,
		Created: h.Created, Owner: o, Phantom: true}
	return h
}

// lasts is how long a Hold is good for: as long as most pods take to leave, their owners to replace them, and
// replacements to get a node.
func (m *Machine) lasts() time.Duration {
	p := &m.o.Patience
	return p.Refused + p.Gone + p.Replacement + p.Place
}

// cleanUp removes a finished pod. It takes no room, and no budget asks for it.
// At once go as many as moves may, so that those are not kept waiting.
func (t *turn) cleanUp(x *Move) {
	if t.cleaned++; t.cleaned > t.m.o.Parallel {
		return // the answers have Step called again
	}
	x.enter(Evicting, t.now)
	t.evict(x)
}

// pendingBefore says whether an earlier move of the plan is still to come, or to come to its end.
func (m *Machine) pendingBefore(x *Move) bool {
	for _, y := range m.moves {
		if y == x {
			return false
		}
		if y.Stage != Over && !y.Cleanup() {
			return true
		}
	}
	return false
}
