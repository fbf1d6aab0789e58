package execution

import (
	"cmp"
	"time"
)

// stepHolding continues once the Hold is created and observed.
func (t *step) stepHolding(x *Move) {
	if !x.holdCreated {
		return
	}
	if h, exists := t.v.State.Hold(x.hold.Namespace, x.hold.Name); !exists || h.Victim != x.hold.Victim {
		if t.isDue(x.Since.Add(t.m.o.Timeouts.EvictionObserved)) {
			x.withdraw(t.now, "its Hold was created but is not observed", placementRetryInterval)
		}
		return
	}
	x.setStage(Evicting, t.now)
}

// stepEvicting requests the eviction, and retries a refused one until Timeouts.EvictionRetry.
func (t *step) stepEvicting(x *Move) {
	if x.evictionPending || !t.isDue(x.notBefore) {
		return
	}
	pod := t.v.Pod(x.Pod.UID)
	if !x.Cleanup() && (pod == nil || pod.Deleting) { // another client deleted it; the reservation is still valid
		x.markEvicted(t.now, t.v)
		return
	}
	if reason := t.holdInvalid(x); reason != "" {
		x.withdraw(t.now, reason, placementRetryInterval)
		t.wakeAt(x.notBefore)
		return
	}
	blocked := ""
	if !x.Cleanup() {
		blocked = cmp.Or(t.openLedger().check(t.now, pod), t.blockedByWorkload(x))
	}
	timedOut := t.now.Sub(x.Since) >= t.m.o.Timeouts.EvictionRetry
	if blocked == "" && (x.refusal == "" || !timedOut) {
		t.evict(x)
		return
	}
	reason := cmp.Or(blocked, x.refusal)
	if !timedOut {
		t.wait(x, reason, evictionRetryInterval)
		return
	}
	if x.deniedSince.IsZero() {
		x.deniedSince = t.now
	}
	x.withdraw(t.now, reason, placementRetryInterval)
	t.wakeAt(x.notBefore)
}

// holdInvalid returns why the reservation of a pod that still exists is no longer valid, or "".
func (t *step) holdInvalid(x *Move) string {
	if x.hold == nil {
		return ""
	}
	if h, exists := t.v.State.Hold(x.hold.Namespace, x.hold.Name); !exists || h.Victim != x.hold.Victim {
		return "its Hold was deleted"
	}
	if !x.hold.Until.After(t.now.Add(t.m.o.Timeouts.Scheduling / 2)) {
		return "its reservation is about to expire before the eviction could be requested"
	}
	return ""
}

// evict emits an Evict action.
func (t *step) evict(x *Move) {
	x.evictionPending = true
	x.recordSiblings(t.v)
	if t.ledger != nil && !x.Cleanup() {
		t.ledger.debit(t.now, x.Pod)
	}
	v := t.v
	t.emit(func(id uint64) Action { return Evict{id, x} }, func(now time.Time, a Result) {
		x.evictionPending = false
		switch {
		case x.Stage != Evicting:
		case a.Done && x.Cleanup():
			x.end(now, CleanedUp, "")
		case a.Done:
			x.markEvicted(now, v)
		case a.Permanent || x.Cleanup():
			x.abandon(now, a.Message)
		default:
			x.refusal, x.Reason, x.notBefore = a.Message, a.Message, now.Add(evictionRetryInterval)
		}
	})
}

// markEvicted records that the pod terminates.
func (x *Move) markEvicted(now time.Time, v *View) {
	x.Evicted, x.deniedSince = now, time.Time{}
	if x.siblingsBefore == nil {
		x.recordSiblings(v)
	}
	x.setStage(Terminating, now)
}

// recordSiblings records the pods of the workload that exist before the pod terminates.
func (x *Move) recordSiblings(v *View) {
	x.siblingsBefore = map[string]bool{}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		x.siblingsBefore[p.UID] = true
	}
}
