package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// upsertHold applies a Hold. It requeues the waiting pods of its owner as if they had changed.
func (m *Machine) upsertHold(now time.Time, h *model.Hold) {
	old, ok := m.state.Hold(h.Namespace, h.Name)
	m.state.UpsertHold(h)
	if ok && (old.Owner.UID != h.Owner.UID) {
		m.requeueOwnerPods(now, old)
	}
	m.requeueOwnerPods(now, h)
}

// releaseHold handles the end of a Hold; nil means that the Hold does not exist.
func (m *Machine) releaseHold(now time.Time, h *model.Hold) {
	if h != nil {
		m.requeueOwnerPods(now, h)
	}
}

func (m *Machine) expireHolds(now time.Time) {
	for _, h := range m.state.ExpireHolds(now) {
		m.releaseHold(now, h)
	}
}

// requeueOwnerPods requeues the waiting pods of a Hold's owner.
func (m *Machine) requeueOwnerPods(now time.Time, h *model.Hold) {
	for _, p := range m.state.PendingPodsOf(h.Namespace, h.Owner.UID) {
		if pool := m.queue.PoolOf(p.UID); pool != queue.NotQueued {
			m.queue.Update(now, queuePod(p), pool != queue.Gated)
		}
	}
}

// releaseReservations requeues pods for resources whose reservation was used or ended.
func (m *Machine) releaseReservations(now time.Time) {
	for _, p := range m.state.TakeReleased() {
		m.notifyFreed(now, p)
	}
}
