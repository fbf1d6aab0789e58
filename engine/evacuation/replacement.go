package evacuation

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// follow observes an evicted pod and its replacement.
func (t *step) follow(x *Move) {
	victim := t.view.Pod(x.Pod.UID)
	if victim != nil {
		x.Pod = victim
	} else if !x.Deleted() {
		x.deletedAt = t.now
	}
	t.updateReplacement(x)
	switch x.Stage {
	case Terminating:
		t.awaitReplacement(x, victim)
	case Replaced:
		t.awaitScheduling(x, victim)
	case Placed:
		t.policy.observePlaced(t, x)
	}
}

// updateReplacement finds the replacement and sets the stage.
func (t *step) updateReplacement(x *Move) {
	if r := x.Replacement; r != nil {
		if x.Replacement = t.view.Pod(r.UID); x.Replacement == nil || x.Replacement.Deleting { // the owner creates another one
			x.siblings[r.UID] = true
			x.Replacement, x.recorded = nil, false
			x.setStage(Terminating, t.now)
			if x.Deleted() {
				x.deletedAt = t.now
			}
		}
	}
	r := x.findReplacement(t.view, t.replacements)
	if r == nil {
		return
	}
	if x.Replacement != nil {
		delete(t.replacements, x.Replacement.UID)
	}
	x.Replacement, t.replacements[r.UID] = r, true
	switch {
	case r.NodeName == "" && x.Stage != Replaced:
		x.setStage(Replaced, t.now)
	case r.NodeName != "" && x.Stage != Placed:
		x.setStage(Placed, t.now)
	}
}

// findReplacement returns the pod that replaces the evicted one. It is a pod of the owner that did not exist before the
// eviction and replaces no other pod. A StatefulSet's replacement has the same name. It prefers a pod on the planned
// node, then a scheduled one, then the oldest. A scheduled replacement is kept. An unscheduled sibling that gets
// scheduled takes the place of an unscheduled replacement, except in a StatefulSet, since the two are equal.
func (x *Move) findReplacement(v *View, replacements map[string]bool) *model.Pod {
	best := x.Replacement
	stateful := x.Pod.Owner.Kind == "StatefulSet"
	if x.siblings == nil || best != nil && (best.NodeName != "" || stateful) {
		return best
	}
	rank := func(p *model.Pod) int {
		switch {
		case p.NodeName == "":
			return 2
		case x.Planned != nil && p.NodeName == x.Planned.To:
			return 0
		}
		return 1
	}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		scheduledBefore, existed := x.siblings[p.UID]
		switch {
		case scheduledBefore, existed && (p.NodeName == "" || stateful), p.UID == x.Pod.UID, p.Deleting, replacements[p.UID], stateful && p.Name != x.Pod.Name:
		case best == nil || rank(p) < rank(best):
			best = p
		}
	}
	return best
}

// awaitReplacement waits for a replacement.
func (t *step) awaitReplacement(x *Move, victim *model.Pod) {
	p := &t.timeouts
	switch {
	case victim != nil && !victim.Deleting: // the eviction was granted, but the pod was not deleted
		if t.isOver(x.EvictedAt, p.EvictionObserved) {
			t.policy.withdraw(t.now, x, "its eviction was granted, but the pod was not deleted", false)
		}
	case victim != nil:
		if p.Termination > 0 && t.isOver(x.EvictedAt, gracePeriod(victim)+p.Termination+p.Replacement) {
			t.policy.fail(t, x, NotReplaced, "it did not terminate within its grace period")
		}
	case x.siblings == nil || x.Pod.Owner.UID == "": // nothing replaces it, or the replacement cannot be identified
		x.end(t.now, NotReplaced, "")
	case t.isOver(x.deletedAt, p.Replacement):
		t.policy.fail(t, x, NotReplaced, fmt.Sprintf("%s %s created no replacement within %s", x.Pod.Owner.Kind, x.Pod.Owner.Name, p.Replacement))
	}
}

func gracePeriod(p *model.Pod) time.Duration { return time.Duration(p.GraceSeconds) * time.Second }

// awaitScheduling waits until the replacement is scheduled. The terminating pod itself may prevent that.
func (t *step) awaitScheduling(x *Move, victim *model.Pod) {
	p := &t.timeouts
	if p.Scheduling == 0 {
		return
	}
	at := x.Since.Add(p.Scheduling)
	if victim != nil {
		at = order.Max(at, x.EvictedAt.Add(gracePeriod(victim)+p.Termination))
	} else {
		at = order.Max(at, x.deletedAt.Add(p.Scheduling))
	}
	if t.isDue(at) {
		t.policy.fail(t, x, Unscheduled, fmt.Sprintf("its replacement %s was not scheduled within %s", x.Replacement.Key(), p.Scheduling))
	}
}
