package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// prepare has the claims of an assumed pod given to their volumes. The room for pod and
// volumes is taken from here on.
func (m *Machine) prepare(now time.Time, a *attempt, pod *model.Pod, plan *model.VolumePlan) {
	m.state.AssumeVolumes(pod, plan)
	a.plan, a.until = plan, now.Add(m.cfg.BindTimeout).Add(plan.Within)
	m.preparing = append(m.preparing, a)
	m.askPrepare(now, a, pod)
}

func (m *Machine) askPrepare(now time.Time, a *attempt, pod *model.Pod) {
	id := m.emit(func(id uint64) Effect { return Prepare{ID: id, Pod: pod, Node: a.node, Plan: a.plan} })
	m.await(a, preparing, id, earlier(now.Add(m.cfg.BindTimeout), a.until))
}

// wasPrepared takes in the answer to a Prepare. Done means written; the claims
// may be bound at once, or by and by.
func (m *Machine) wasPrepared(now time.Time, a *attempt, o Outcome) {
	switch o.Result {
	case Done:
		a.until = now.Add(a.plan.Within)
		m.await(a, prepared, 0, a.until)
		m.ripen(now, a)
	case Unknown:
		m.await(a, preparing, 0, earlier(now.Add(m.cfg.LookAgain), a.until))
	case Conflict:
		m.undo(now, a, "")
	case Refused:
		m.undo(now, a, "preparing volumes for node \""+a.node+"\" was refused: "+o.Why)
	}
}

// prepareAgain asks once more what had no answer, or gives up.
func (m *Machine) prepareAgain(now time.Time, a *attempt) {
	if now.Before(a.until) {
		m.askPrepare(now, a, m.state.Pod(a.uid))
		return
	}
	m.undo(now, a, "the volumes for node \""+a.node+"\" were not bound within "+a.plan.Within.String())
}

// ripen binds an attempt whose volumes are bound, and ends one that waits in vain.
func (m *Machine) ripen(now time.Time, a *attempt) {
	pod := m.state.Pod(a.uid)
	switch why := m.state.VolumesLost(pod); {
	case why != "":
		m.undo(now, a, "preparing volumes for node \""+a.node+"\": "+why)
	case m.state.VolumesReady(pod):
		m.unprepare(a)
		m.bind(now, a, pod, false)
	}
}

// ripenAll looks after all that waits for volumes, when something about volumes changed.
func (m *Machine) ripenAll(now time.Time) {
	if !m.volumesMoved {
		return
	}
	m.volumesMoved = false
	for _, a := range slices.Clone(m.preparing) {
		if a.stage == prepared && m.byPod[a.uid] == a {
			m.ripen(now, a)
		}
	}
}

// unprepare takes an attempt off the list of those that wait for volumes.
func (m *Machine) unprepare(a *attempt) {
	if a.plan == nil {
		return
	}
	if i := slices.Index(m.preparing, a); i >= 0 {
		m.preparing = slices.Delete(m.preparing, i, i+1)
	}
}

// volumesFreed wakes those whom volumes, or claims, help that a pod held until now.
func (m *Machine) volumesFreed(now time.Time, held bool) {
	if held {
		m.changed(now, decision.Delta{Kinds: decision.VolumeChanged | decision.ClaimChanged})
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
