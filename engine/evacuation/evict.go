package evacuation

import (
	"cmp"
	"time"
)

// Delays before a move is checked again: retryInterval if it waits or was refused, withdrawalDelay if its eviction did
// not succeed within Timeouts.EvictionRetry.
const (
	retryInterval   = time.Second
	withdrawalDelay = 5 * time.Second
)

// evict requests the eviction of a move.
func (t *step) evict(a Action) {
	x := a.Move
	x.requested = true
	x.recordSiblings(t.view)
	t.policy.debit(t, x)
	t.emit(a, func(now time.Time, r Result) {
		x.requested = false
		switch {
		case x.Stage != Evicting:
		case r.Done && x.Cleanup():
			x.end(now, CleanedUp, "")
		case r.Done:
			x.setEvicted(now)
		case r.Permanent || x.Cleanup():
			x.refusal = r.Message
			t.policy.withdraw(now, x, r.Message, true)
		default:
			x.refusal, x.Reason, x.notBefore = r.Message, r.Message, now.Add(retryInterval)
		}
	})
}

// retryEviction requests an eviction that is prepared or was refused, until Timeouts.EvictionRetry.
func (t *step) retryEviction(x *Move) {
	if x.requested || !t.isDue(x.notBefore) {
		return
	}
	if pod := t.view.Pod(x.Pod.UID); !x.Cleanup() && (pod == nil || pod.Deleting) { // another client deleted it
		x.setEvicted(t.now)
		t.follow(x)
		return
	}
	reason, final := t.policy.check(t, x)
	timedOut := t.now.Sub(x.Since) >= t.timeouts.EvictionRetry
	switch {
	case reason == "" && (x.refusal == "" || !timedOut):
		t.evict(Action{Kind: Evict, Move: x, SurgePod: x.surgePod})
		return
	case !timedOut && !final:
		t.wait(x, cmp.Or(reason, x.refusal), retryInterval)
		return
	case !final && x.deniedSince.IsZero():
		x.deniedSince = t.now
	}
	t.policy.withdraw(t.now, x, cmp.Or(reason, x.refusal), false)
}

// recordSiblings records the pods of the workload that exist before the pod terminates.
func (x *Move) recordSiblings(v *View) {
	x.siblings = map[string]bool{}
	for _, p := range v.OwnedBy(x.Pod.Owner) {
		x.siblings[p.UID] = p.NodeName != ""
	}
}
