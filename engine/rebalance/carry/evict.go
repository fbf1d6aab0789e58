package carry

import (
	"cmp"
	"time"
)

// holding goes on once the place is held, and the Hold is seen.
func (t *turn) holding(x *Move) {
	if !x.reserved {
		return
	}
	if h, there := t.v.State.Hold(x.hold.Namespace, x.hold.Name); !there || h.Victim != x.hold.Victim {
		if t.due(x.Since.Add(t.m.o.Patience.Seen)) {
			x.withdraw(t.now, "its Hold was made and is not to be seen", placeAgain)
		}
		return
	}
	x.enter(Evicting, t.now)
}

// evicting asks for the eviction, and again for a while when it was refused.
func (t *turn) evicting(x *Move) {
	if x.asking || !t.due(x.notBefore) {
		return
	}
	pod := t.v.Pod(x.Pod.UID)
	if !x.Cleanup() && (pod == nil || pod.Deleting) { // somebody else had it go: its place is held all the same
		x.went(t.now, t.v)
		return
	}
	if why := t.unheld(x); why != "" {
		x.withdraw(t.now, why, placeAgain)
		t.until(x.notBefore)
		return
	}
	blocked := ""
	if !x.Cleanup() {
		blocked = cmp.Or(t.books().ask(t.now, pod), t.restless(x))
	}
	late := t.now.Sub(x.Since) >= t.m.o.Patience.Refused
	if blocked == "" && (x.refused == "" || !late) {
		t.evict(x)
		return
	}
	why := cmp.Or(blocked, x.refused)
	if !late {
		t.wait(x, why, askAgain)
		return
	}
	if x.denied.IsZero() {
		x.denied = t.now
	}
	x.withdraw(t.now, why, placeAgain)
	t.until(x.notBefore)
}

// unheld says why the place of a move whose pod is still there is held no more, or not for long enough; empty: it is, or none is.
func (t *turn) unheld(x *Move) string {
	if x.hold == nil {
		return ""
	}
	if h, there := t.v.State.Hold(x.hold.Namespace, x.hold.Name); !there || h.Victim != x.hold.Victim {
		return "its Hold was deleted"
	}
	if !x.hold.Until.After(t.now.Add(t.m.o.Patience.Place / 2)) {
		return "its place was held for too long before its eviction could be asked for"
	}
	return ""
}

// evict asks for the eviction.
func (t *turn) evict(x *Move) {
	x.asking = true
	x.note(t.v)
	if t.budgets != nil && !x.Cleanup() {
		t.budgets.pay(t.now, x.Pod)
	}
	v := t.v
	t.act(func(id uint64) Action { return Evict{id, x} }, func(now time.Time, a Answer) {
		x.asking = false
		switch {
		case x.Stage != Evicting:
		case a.Done && x.Cleanup():
			x.end(now, CleanedUp, "")
		case a.Done:
			x.went(now, v)
		case a.Final || x.Cleanup():
			x.giveUp(now, a.Words)
		default:
			x.refused, x.Why, x.notBefore = a.Words, a.Words, now.Add(askAgain)
		}
	})
}

// went takes in that the pod leaves.
func (x *Move) went(now time.Time, v *View) {
	x.Evicted, x.denied = now, time.Time{}
	if x.before == nil {
		x.note(v)
	}
	x.enter(Leaving, now)
}

// note notes who of its workload is there before the pod leaves.
func (x *Move) note(v *View) {
	x.before = map[string]bool{}
	for _, p := range v.Of(x.Pod.Owner) {
		x.before[p.UID] = true
	}
}
