package execution

import (
	"time"

	"github.com/berthproject/berth/engine/descheduling/planning"
	"github.com/berthproject/berth/engine/model"
)

// releaseRetryInterval is how long after a Release the Hold may still be seen.
const releaseRetryInterval = 5 * time.Second

// releaseHolds deletes the Holds of ours that nobody needs any more: their time or their move is over, or they were left by a
// former process. An Avoid Hold stays when its time is over, and keeps nobody away then, until what it says of how often a move
// was in vain does not count any more (plan.Memory). A reservation whose pod has left stays until its replacement has used it up, or its time is over.
func (t *step) releaseHolds() {
	m := t.m
	for _, h := range t.v.State.Holds() {
		if h.Cause != planning.HoldCause || h.Type != model.Reserve && !t.isDue(h.Until.Add(m.o.Backoff.Max)) {
			continue
		}
		why, key := t.releaseReason(h), h.Key()+" "+h.Victim // the next of its workload to that node has one of the same name
		if why == "" || t.now.Before(m.releaseRetry[key]) {
			if why == "" {
				t.wakeAt(h.Until)
			} else {
				t.wakeAt(m.releaseRetry[key])
			}
			continue
		}
		m.releaseRetry[key] = t.now.Add(releaseRetryInterval)
		t.wakeAt(m.releaseRetry[key])
		t.emit(func(id uint64) Action { return Release{id, h, why} }, func(time.Time, Result) {})
	}
	for key, at := range m.releaseRetry { // each by itself; the order does not matter
		if !t.now.Before(at.Add(releaseRetryInterval)) {
			delete(m.releaseRetry, key)
		}
	}
}

// releaseReason says why a Hold is needed no more; empty: it is.
func (t *step) releaseReason(h *model.Hold) string {
	if !h.Until.After(t.now) {
		return "its time is over"
	}
	if x := t.m.moveOf(h); x != nil {
		if x.Stage < Placed {
			return ""
		}
		return "its replacement has a node"
	}
	for _, x := range t.m.moves {
		switch {
		case x.Pod.UID != h.Victim:
		case x.Stage == Waiting:
			return "its pod has to wait"
		default:
			return "its move is over"
		}
	}
	victim := t.v.Pod(h.Victim)
	if victim != nil && !victim.Deleting {
		return "its pod has not left, and nobody is moving it"
	}
	for _, p := range t.v.OwnedBy(h.Owner) {
		if p.UID != h.Victim && p.NodeName != "" && !p.Created.Before(h.Created) {
			return "its replacement has a node"
		}
	}
	return ""
}

// moveOf is the move under way that a Hold is of; nil: none.
func (m *Machine) moveOf(h *model.Hold) *Move {
	for _, x := range m.moves {
		if x.hold != nil && x.hold.Key() == h.Key() && x.hold.Victim == h.Victim {
			return x
		}
	}
	return nil
}
