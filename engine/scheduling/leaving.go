package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/displace"
	"github.com/berthproject/berth/engine/model"
)

// leaving is a pod that is being driven out. Until the API shows it, the state is told of the
// pod as if it did, so that its budgets count it as gone and nobody drives it out twice.
type leaving struct {
	by   *nominee
	seen *model.Pod // as it was reported
}

// mark notes a victim.
func (m *Machine) mark(now time.Time, n *nominee, v *model.Pod) {
	seen := v
	if m.state.Assumed(v.UID) { // its Bind is under way
		bare := *v
		bare.NodeName = ""
		seen = &bare
	}
	m.leaving[v.UID] = leaving{by: n, seen: seen}
	m.state.UpsertPod(driven(seen))
	m.changed(now, delta(podChange(v, m.state.Pod(v.UID)), v, m.state.Pod(v.UID)))
}

// driven is a pod as the API is going to show it.
func driven(p *model.Pod) *model.Pod {
	if displace.Preemption.Drives(p) {
		return p
	}
	q := *p
	q.Deleting, q.Disrupted = true, displace.Preemption.Reason()
	return &q
}

// marked is a reported pod with what was decided about it.
func (m *Machine) marked(p *model.Pod) *model.Pod {
	l, ok := m.leaving[p.UID]
	if !ok {
		return p
	}
	l.seen = p
	m.leaving[p.UID] = l
	return driven(p)
}

// spare takes the marks from the victims of a Preempt that did not happen.
func (m *Machine) spare(now time.Time, n *nominee) {
	if n.plan == nil {
		return
	}
	for _, v := range n.plan.Victims {
		l, ok := m.leaving[v.UID]
		if !ok || l.by != n {
			continue
		}
		delete(m.leaving, v.UID)
		m.upsertPod(now, l.seen)
		m.wakeNominees(now, l.seen.NodeName)
	}
}

// left takes in that a pod does not take room any more. Who waited for it alone is
// tried at once.
func (m *Machine) left(now time.Time, p *model.Pod) {
	delete(m.leaving, p.UID)
	if displace.Preemption.Drives(p) {
		m.wakeNominees(now, p.NodeName)
	}
}

// wakeNominees has the pods tried that are nominated to a node and wait for nobody to
// leave.
func (m *Machine) wakeNominees(now time.Time, node string) {
	id, ok := m.state.NodeID(node)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if !q.Phantom && !m.unsettled(q.UID) && len(m.victims(q)) == 0 {
			m.activate(now, q.UID)
		}
	})
}
