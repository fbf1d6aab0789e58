package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// upsertHold takes in a Hold. It concerns the waiting pods of its owner alone, as if
// they had changed themselves: where they may go is another question from now on.
func (m *Machine) upsertHold(now time.Time, h *model.Hold) {
	old, known := m.state.Hold(h.Namespace, h.Name)
	m.state.UpsertHold(h)
	if known && (old.Owner.UID != h.Owner.UID) {
		m.reconsider(now, old)
	}
	m.reconsider(now, h)
}

// heldNoMore takes in that a Hold was removed or has ended; nil when it was not known.
func (m *Machine) heldNoMore(now time.Time, h *model.Hold) {
	if h != nil {
		m.reconsider(now, h)
	}
}

// endHolds ends the Holds whose time is over.
func (m *Machine) endHolds(now time.Time) {
	for _, h := range m.state.ExpireHolds(now) {
		m.heldNoMore(now, h)
	}
}

// reconsider has the waiting pods of a Hold's owner tried again.
func (m *Machine) reconsider(now time.Time, h *model.Hold) {
	for _, p := range m.state.WaitingOf(h.Namespace, h.Owner.UID) {
		if at := m.queue.Where(p.UID); at != queue.Nowhere {
			m.queue.Update(now, queued(p), at != queue.Gated)
		}
	}
}

// unreserve tells of room that is free again because a reservation was used up or
// is over.
func (m *Machine) unreserve(now time.Time) {
	for _, p := range m.state.Released() {
		m.freed(now, p)
	}
}
