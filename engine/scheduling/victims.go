package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// markedVictim is a pod that is being driven out. Until the API shows it, the state is told of the
// pod as if it did, so that its budgets count it as gone and nobody drives it out twice.
type markedVictim struct {
	preemptor *nomination
	reported  *model.Pod // as it was reported
}

// markVictim notes a victim.
func (m *Machine) markVictim(now time.Time, n *nomination, v *model.Pod) {
	seen := v
	if m.state.Assumed(v.UID) { // its Bind is under way
		bare := *v
		bare.NodeName = ""
		seen = &bare
	}
	m.markedVictims[v.UID] = markedVictim{preemptor: n, reported: seen}
	m.state.UpsertPod(withDisruptionTarget(seen))
	m.notifyChange(now, delta(podChange(v, m.state.Pod(v.UID)), v, m.state.Pod(v.UID)))
}

// withDisruptionTarget is a pod as the API is going to show it.
func withDisruptionTarget(p *model.Pod) *model.Pod {
	if displacement.Preemption.IsTerminating(p) {
		return p
	}
	q := *p
	q.Deleting, q.DisruptionReason = true, displacement.Preemption.Reason()
	return &q
}

// applyVictimMark is a reported pod with what was decided about it.
func (m *Machine) applyVictimMark(p *model.Pod) *model.Pod {
	l, ok := m.markedVictims[p.UID]
	if !ok {
		return p
	}
	l.reported = p
	m.markedVictims[p.UID] = l
	return withDisruptionTarget(p)
}

// unmarkVictims takes the marks from the victims of a Preempt that did not happen.
func (m *Machine) unmarkVictims(now time.Time, n *nomination) {
	if n.plan == nil {
		return
	}
	for _, v := range n.plan.Victims {
		l, ok := m.markedVictims[v.UID]
		if !ok || l.preemptor != n {
			continue
		}
		delete(m.markedVictims, v.UID)
		m.upsertPod(now, l.reported)
		m.activateNominated(now, l.reported.NodeName)
	}
}

// handlePodGone takes in that a pod does not take room any more. Who waited for it alone is
// tried at once.
func (m *Machine) handlePodGone(now time.Time, p *model.Pod) {
	delete(m.markedVictims, p.UID)
	if displacement.Preemption.IsTerminating(p) {
		m.activateNominated(now, p.NodeName)
	}
}

// activateNominated has the pods tried that are nominated to a node and wait for nobody to
// leave.
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
