package execution

import (
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// releaseRetryInterval is the time within which a released Hold may still be observed.
const releaseRetryInterval = 5 * time.Second

// releaseHolds deletes the descheduler's Holds that are no longer needed: they expired, their
// move finished, or a previous process left them. An expired Avoid Hold is kept until its
// failure count no longer matters (planning.MoveBackoff). A reservation whose pod was
// deleted is kept until the replacement has used it or it expires.
func (t *step) releaseHolds() {
	m := t.m
	for _, h := range t.v.State.Holds() {
		if !planning.IsHoldCause(h.Cause) || h.Type != model.Reserve && !t.isDue(h.Until.Add(m.o.Backoff.Max)) {
			continue
		}
		// The key includes the victim: the Holds of two pods of a workload that move to one node have
		// the same name.
		reason, key := t.releaseReason(h), h.Key()+" "+h.Victim
		if reason == "" || t.now.Before(m.releaseRetry[key]) {
			if reason == "" {
				t.wakeAt(h.Until)
			} else {
				t.wakeAt(m.releaseRetry[key])
			}
			continue
		}
		m.releaseRetry[key] = t.now.Add(releaseRetryInterval)
		t.wakeAt(m.releaseRetry[key])
		t.emit(func(id uint64) Action { return Release{id, h, reason} }, func(time.Time, Result) {})
	}
	for key, at := range m.releaseRetry { // in any order
		if !t.now.Before(at.Add(releaseRetryInterval)) {
			delete(m.releaseRetry, key)
		}
	}
}

// releaseReason returns why a Hold is no longer needed, or "" if it is.
func (t *step) releaseReason(h *model.Hold) string {
	if !h.Until.After(t.now) {
		return "it has expired"
	}
	if x := t.m.moveOf(h); x != nil {
		if x.Stage < Placed {
			return ""
		}
		return "its replacement is scheduled"
	}
	for _, x := range t.m.moves {
		switch {
		case x.Pod.UID != h.Victim:
		case x.Stage == Waiting:
			return "its move is waiting"
		default:
			return "its move has finished"
		}
	}
	victim := t.v.Pod(h.Victim)
	if victim != nil && !victim.Deleting {
		return "its pod was not evicted and is not being moved"
	}
	for _, p := range t.v.OwnedBy(h.Owner) {
		if p.UID != h.Victim && p.NodeName != "" && !p.Created.Before(h.Created) {
			return "its replacement is scheduled"
		}
	}
	return ""
}

// moveOf returns the move in progress that a Hold belongs to, or nil.
func (m *Machine) moveOf(h *model.Hold) *Move {
	for _, x := range m.moves {
		if x.hold != nil && x.hold.Key() == h.Key() && x.hold.Victim == h.Victim {
			return x
		}
	}
	return nil
}
