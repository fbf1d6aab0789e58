package carry

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/rebalance/plan"
)

// releaseAgain is how long after a Release the Hold may still be seen.
const releaseAgain = 5 * time.Second

// sweep deletes the Holds of ours that nobody needs any more: their time or their move is over, or they were left by a
// former process. An Avoid Hold stays when its time is over, and keeps nobody away then, until what it says of how often a move
// was in vain does not count any more (plan.Memory). A reservation whose pod has left stays until its replacement has used it up, or its time is over.
func (t *turn) sweep() {
	m := t.m
	for _, h := range t.v.State.Holds() {
		if h.Cause != plan.Cause || h.Type != model.Reserve && !t.due(h.Until.Add(m.o.Memory.Most)) {
			continue
		}
		why, key := t.over(h), h.Key()+" "+h.Victim // the next of its workload to that node has one of the same name
		if why == "" || t.now.Before(m.released[key]) {
			if why == "" {
				t.until(h.Until)
			} else {
				t.until(m.released[key])
			}
			continue
		}
		m.released[key] = t.now.Add(releaseAgain)
		t.until(m.released[key])
		t.act(func(id uint64) Action { return Release{id, h, why} }, func(time.Time, Answer) {})
	}
	for key, at := range m.released { // each by itself; the order does not matter
		if !t.now.Before(at.Add(releaseAgain)) {
			delete(m.released, key)
		}
	}
}

// over says why a Hold is needed no more; empty: it is.
func (t *turn) over(h *model.Hold) string {
	if !h.Until.After(t.now) {
		return "its time is over"
	}
	if x := t.m.holder(h); x != nil {
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
	for _, p := range t.v.Of(h.Owner) {
		if p.UID != h.Victim && p.NodeName != "" && !p.Created.Before(h.Created) {
			return "its replacement has a node"
		}
	}
	return ""
}

// holder is the move under way that a Hold is of; nil: none.
func (m *Machine) holder(h *model.Hold) *Move {
	for _, x := range m.moves {
		if x.hold != nil && x.hold.Key() == h.Key() && x.hold.Victim == h.Victim {
			return x
		}
	}
	return nil
}
