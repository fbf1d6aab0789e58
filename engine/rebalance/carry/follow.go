package carry

import (
	"fmt"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// leaving finds the replacement of a pod that was evicted, and what becomes of it.
func (t *turn) leaving(x *Move) {
	victim := t.v.Pod(x.Pod.UID)
	if victim == nil && x.gone.IsZero() {
		x.gone = t.now
	}
	if r := x.Replacement; r != nil && x.Stage >= Replaced {
		if is := t.v.Pod(r.UID); is == nil || is.Deleting { // it left, too; another one will come
			x.before[r.UID] = true
			x.Replacement, x.told = nil, false
			x.enter(Leaving, t.now)
			if victim == nil {
				x.gone = t.now
			}
		}
	}
	if r := x.find(t.v); r != nil {
		x.Replacement = r
		switch {
		case r.NodeName == "" && x.Stage != Replaced:
			x.enter(Replaced, t.now)
		case r.NodeName != "" && x.Stage != Placed:
			x.enter(Placed, t.now)
			x.landed = x.where(r.NodeName)
		}
	}
	t.keep(x)
	switch x.Stage {
	case Leaving:
		t.unreplaced(x, victim)
	case Replaced:
		t.unplaced(x, victim)
	case Placed:
		t.placed(x)
	}
}

// keep makes the Hold of a pod that takes long to leave last longer.
func (t *turn) keep(x *Move) {
	ahead := t.m.o.Patience.Place / 2
	if x.hold == nil || x.Stage > Replaced || !t.due(x.hold.Until.Add(-ahead)) {
		return
	}
	h := *x.hold
	h.Until = t.now.Add(t.m.lasts())
	x.hold = &h
	t.act(func(id uint64) Action { return Reserve{id, x, &h} }, func(now time.Time, a Answer) {
		if !a.Done && x.hold == &h {
			h.Until = now.Add(ahead + askAgain)
		}
	})
}

// seen is the replacement as a view has it, whatever the last Step knew of it; nil: it is not there.
func (x *Move) seen(v *View) *model.Pod {
	if x.before == nil {
		return nil
	}
	if victim := v.Pod(x.Pod.UID); x.Stage < Leaving && victim != nil && !victim.Deleting {
		return nil
	}
	return x.find(v)
}

// find finds the pod that came for another: one of the owner that was not there when that was evicted, under the
// same name if the owner is a StatefulSet. Of several it is one on the planned node, else one with a node, else the oldest.
func (x *Move) find(v *View) *model.Pod {
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
	for _, p := range v.Of(x.Pod.Owner) {
		if x.before[p.UID] || p.UID == x.Pod.UID || p.Deleting || x.Pod.Owner.Kind == "StatefulSet" && p.Name != x.Pod.Name {
			continue
		}
		if best == nil || rank(p) < rank(best) {
			best = p
		}
	}
	return best
}

// where is what a replacement on a node means.
func (x *Move) where(node string) Outcome {
	switch {
	case node == x.From:
		return Returned
	case node == x.To || slices.Contains(x.Top, node):
		return Moved
	}
	return Elsewhere
}

// unreplaced waits for a replacement to come.
func (t *turn) unreplaced(x *Move, victim *model.Pod) {
	p := &t.m.o.Patience
	switch {
	case victim != nil && !victim.Deleting: // the eviction was granted, and the pod is there as if it had not been
		if t.due(x.Evicted.Add(p.Seen)) {
			x.withdraw(t.now, "its eviction was granted, and nothing came of it", placeAgain)
		}
	case victim != nil:
		if t.due(x.Evicted.Add(grace(victim) + p.Gone + p.Replacement)) {
			t.fails(x, Unreplaced, "it takes longer than its grace to stop")
		}
	case t.due(x.gone.Add(p.Replacement)):
		t.fails(x, Unreplaced, fmt.Sprintf("%s %s made no other in %s", x.Pod.Owner.Kind, x.Pod.Owner.Name, p.Replacement))
	}
}

// grace is how long a pod on its way out may take.
func grace(p *model.Pod) time.Duration { return time.Duration(p.Grace) * time.Second }

// unplaced waits for the replacement to get a node. What stands in its way may be the pod itself until that is gone.
func (t *turn) unplaced(x *Move, victim *model.Pod) {
	p := &t.m.o.Patience
	at := x.Since.Add(p.Place)
	if victim != nil {
		at = later(at, x.Evicted.Add(grace(victim)+p.Gone))
	} else {
		at = later(at, x.gone.Add(p.Place))
	}
	if t.due(at) {
		t.inVain(x, Unplaced, fmt.Sprintf("its replacement %s got no node in %s", x.Replacement.Key(), p.Place))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// placed waits for the replacement to be Ready. One that is back where it came from is not waited for.
func (t *turn) placed(x *Move) {
	r := x.Replacement
	if !x.told {
		x.told = true
		switch x.landed {
		case Returned:
			t.inVain(x, Returned, fmt.Sprintf("%s, which came for %s, was put back on %s", r.Key(), x.Pod.Key(), x.From))
			return
		case Elsewhere:
			x.Why = fmt.Sprintf("its replacement was put on %s", r.NodeName)
			t.m.o.Memory.InVain(t.now, plan.KeyOf(x.Move), x.Why+" instead of "+x.To)
		}
	}
	switch {
	case r.Ready:
		x.end(t.now, x.landed, x.Why)
	case t.due(x.Since.Add(t.m.o.Patience.Ready)):
		t.fails(x, Unready, fmt.Sprintf("its replacement %s was not Ready in %s", r.Key(), t.m.o.Patience.Ready))
	}
}

// fails ends a move after which the workload has a pod less: no other pod of it is moved until some time has passed.
func (t *turn) fails(x *Move, o Outcome, why string) {
	t.m.o.Memory.InVain(t.now, plan.Workload(x.Move), fmt.Sprintf("%s was moved: %s", x.Pod.Key(), why))
	x.end(t.now, o, why)
}

// inVain ends a move that was in vain, and has it remembered: where no place can be held by an Avoid Hold, too,
// which outlives this process and says how many times it was.
func (t *turn) inVain(x *Move, o Outcome, why string) {
	own := x.Pod.Owner
	name := plan.VainHold(own.UID, x.From)
	if h, there := t.v.State.Hold(x.Pod.Namespace, name); there {
		t.m.o.Memory.Recall(plan.KeyOf(x.Move), int(h.Count), h.Until)
	}
	until, count := t.m.o.Memory.InVain(t.now, plan.KeyOf(x.Move), why)
	x.end(t.now, o, why)
	if o != Returned || x.Mode != plan.Unheld || !t.m.o.Holds {
		return
	}
	h := &model.Hold{Namespace: x.Pod.Namespace, Name: name, Type: model.Avoid, Owner: own, Node: x.From,
		Cause: plan.Cause, Count: int32(count), Created: t.now, Until: until, Victim: x.Pod.UID, VictimName: x.Pod.Name}
	t.act(func(id uint64) Action { return Avoid{id, x, h} }, func(time.Time, Answer) {})
}
