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
		m.requeueOwnerPods(now, old)
	}
	m.requeueOwnerPods(now, h)
}

// releaseHold takes in that a Hold was removed or has ended; nil when it was not known.
func (m *Machine) releaseHold(now time.Time, h *model.Hold) {
	if h != nil {
		m.requeueOwnerPods(now, h)
	}
}

// expireHolds ends the Holds whose time is over.
func (m *Machine) expireHolds(now time.Time) {
	for _, h := range m.state.ExpireHolds(now) {
		m.releaseHold(now, h)
	}
}

// requeueOwnerPods has the waiting pods of a Hold's owner tried again.
func (m *Machine) requeueOwnerPods(now time.Time, h *model.Hold) {
	for _, p := range m.state.PendingPodsOf(h.Namespace, h.Owner.UID) {
		if at := m.queue.PoolOf(p.UID); at != queue.NotQueued {
			m.queue.Update(now, queuePod(p), at != queue.Gated)
		}
	}
}

// releaseReservations tells of room that is free again because a reservation was used up or
// is over.
func (m *Machine) releaseReservations(now time.Time) {
	for _, p := range m.state.TakeReleased() {
		m.notifyFreed(now, p)
	}
}
