package scheduling

import (
	"slices"
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
)

// bindVolumes assumes the volume bindings and sends BindVolumes.
func (m *Machine) bindVolumes(now time.Time, a *attempt, pod *model.Pod, plan *model.VolumePlan) {
	m.state.AssumeVolumes(pod, plan)
	a.volumePlan, a.volumesDeadline = plan, now.Add(m.cfg.BindTimeout).Add(plan.BindTimeout)
	m.volumeBinds = append(m.volumeBinds, a)
	m.sendBindVolumes(now, a, pod)
}

// sendBindVolumes sends BindVolumes for the first time or as a retry.
func (m *Machine) sendBindVolumes(now time.Time, a *attempt, pod *model.Pod) {
	id := m.emit(func(id uint64) Effect { return BindVolumes{ID: id, Pod: pod, Node: a.node, Plan: a.volumePlan} })
	m.setStage(a, bindingVolumes, id, order.Min(now.Add(m.cfg.BindTimeout), a.volumesDeadline))
}

// handleBindVolumesOutcome handles the outcome of BindVolumes. After Done the claims may be bound
// at once or later.
func (m *Machine) handleBindVolumesOutcome(now time.Time, a *attempt, o Outcome) {
	switch o.Result {
	case Done:
		a.volumesDeadline = now.Add(a.volumePlan.BindTimeout)
		m.setStage(a, waitingForVolumes, 0, a.volumesDeadline)
		m.checkVolumes(now, a)
	case Unknown:
		m.setStage(a, bindingVolumes, 0, order.Min(now.Add(m.cfg.RetryInterval), a.volumesDeadline))
	case Conflict:
		m.abortAttempt(now, a, "")
	case Refused:
		m.abortAttempt(now, a, "binding volumes for node \""+a.node+"\" was refused: "+o.Reason)
	}
}

// retryBindVolumes retries an unanswered BindVolumes or aborts the attempt.
func (m *Machine) retryBindVolumes(now time.Time, a *attempt) {
	if now.Before(a.volumesDeadline) {
		m.sendBindVolumes(now, a, m.state.Pod(a.uid))
		return
	}
	m.abortAttempt(now, a, "binding volumes for node \""+a.node+"\": not bound within "+a.volumePlan.BindTimeout.String())
}

// checkVolumes binds an attempt whose volumes are bound and aborts one whose volumes cannot be bound.
func (m *Machine) checkVolumes(now time.Time, a *attempt) {
	pod := m.state.Pod(a.uid)
	switch reason := m.state.VolumePlanError(pod); {
	case reason != "":
		m.abortAttempt(now, a, "binding volumes for node \""+a.node+"\": "+reason)
	case m.state.VolumesReady(pod):
		m.dropVolumeBind(a)
		m.bind(now, a, pod, false)
	}
}

// checkAllVolumes checks all attempts that wait for volumes, if a volume object changed.
func (m *Machine) checkAllVolumes(now time.Time) {
	if !m.volumesChanged {
		return
	}
	m.volumesChanged = false
	for _, a := range slices.Clone(m.volumeBinds) {
		if a.stage == waitingForVolumes && m.attempts[a.uid] == a {
			m.checkVolumes(now, a)
		}
	}
}

// dropVolumeBind removes an attempt from the list of those that wait for volumes.
func (m *Machine) dropVolumeBind(a *attempt) {
	if a.volumePlan == nil {
		return
	}
	if i := slices.Index(m.volumeBinds, a); i >= 0 {
		m.volumeBinds = slices.Delete(m.volumeBinds, i, i+1)
	}
}

// notifyVolumesFreed requeues pods that volumes or claims released by a pod may make schedulable.
func (m *Machine) notifyVolumesFreed(now time.Time, freed bool) {
	if freed {
		m.notifyChange(now, decision.Delta{Events: decision.PVChanged | decision.PVCChanged})
	}
}
