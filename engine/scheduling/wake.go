package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// changed tells the queue of a change, after the state knows of it.
func (m *Machine) changed(now time.Time, d decision.Delta) {
	m.queue.Changed(now, d.Kinds)
}

// taken tells that a pod takes room on a node from now on: it was assumed.
func (m *Machine) taken(now time.Time, uid string) {
	m.changed(now, decision.Delta{Kinds: decision.PodAssigned, New: m.state.Pod(uid)})
}

// forget ends the assumption of a pod and tells of the room that is free again.
func (m *Machine) forget(now time.Time, uid string) {
	old := m.state.Pod(uid)
	m.state.Forget(uid)
	if counted(old) {
		m.changed(now, decision.Delta{Kinds: decision.PodRemoved, Old: old})
	}
}

// freed tells that a pod does not hold its room any more: it was counted, or
// nominated, as old says.
func (m *Machine) freed(now time.Time, old *model.Pod) {
	m.changed(now, decision.Delta{Kinds: decision.PodRemoved, Old: old})
}
