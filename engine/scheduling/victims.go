package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// markedVictim is a pod that is being preempted. Until the API shows its deletion, the state has it
// as terminating, so that budgets do not count it and no other pod preempts it.
type markedVictim struct {
	preemptor *nomination
	reported  *model.Pod // the pod as the API reported it
}

// markVictim marks a victim as terminating in the state.
func (m *Machine) markVictim(now time.Time, n *nomination, v *model.Pod) {
	reported := v
	if m.state.Assumed(v.UID) { // a Bind is in flight
		unassigned := *v
		unassigned.NodeName = ""
		reported = &unassigned
	}
	m.markedVictims[v.UID] = markedVictim{preemptor: n, reported: reported}
	m.state.UpsertPod(withDisruptionTarget(reported))
	m.notifyChange(now, delta(podChange(v, m.state.Pod(v.UID)), v, m.state.Pod(v.UID)))
}

// withDisruptionTarget returns the pod as the API will show it after the eviction.
func withDisruptionTarget(p *model.Pod) *model.Pod {
	if displacement.Preemption.IsTerminating(p) {
		return p
	}
	terminating := *p
	terminating.Deleting, terminating.DisruptionReason = true, displacement.Preemption.Reason()
	return &terminating
}

// applyVictimMark returns a reported pod, marked as terminating if it is a victim.
func (m *Machine) applyVictimMark(p *model.Pod) *model.Pod {
	victim, ok := m.markedVictims[p.UID]
	if !ok {
		return p
	}
	victim.reported = p
	m.markedVictims[p.UID] = victim
	return withDisruptionTarget(p)
}

// unmarkVictims reverts the marks of a failed Preempt.
func (m *Machine) unmarkVictims(now time.Time, n *nomination) {
	if n.plan == nil {
		return
	}
	for _, v := range n.plan.Victims {
		victim, ok := m.markedVictims[v.UID]
		if !ok || victim.preemptor != n {
			continue
		}
		delete(m.markedVictims, v.UID)
		m.upsertPod(now, victim.reported)
		m.activateNominated(now, victim.reported.NodeName)
	}
}

// handlePodRemoved handles a pod that no longer uses resources. It activates the pods nominated to
// its node that waited only for this pod.
func (m *Machine) handlePodRemoved(now time.Time, p *model.Pod) {
	delete(m.markedVictims, p.UID)
	if displacement.Preemption.IsTerminating(p) {
		m.activateNominated(now, p.NodeName)
	}
}

// activateNominated activates the pods nominated to a node that wait for no victim.
func (m *Machine) activateNominated(now time.Time, node string) {
	id, ok := m.state.NodeID(node)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if !q.Placeholder && !m.preemptInFlight(q.UID) && len(m.terminatingVictims(q)) == 0 {
			m.activate(now, q.UID)
		}
	})
}
