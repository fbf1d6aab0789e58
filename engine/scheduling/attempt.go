package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// bind asks for the attempt's node.
func (m *Machine) bind(now time.Time, a *attempt, pod *model.Pod, again bool) {
	id := m.emit(func(id uint64) Effect {
		return Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.first, Again: again}
	})
	m.await(a, binding, id, now.Add(m.cfg.BindTimeout))
}

// wasBound takes in the answer to a Bind.
func (m *Machine) wasBound(now time.Time, a *attempt, o Outcome) {
	switch {
	case o.Result == Done:
		m.queue.Remove(a.uid)
		m.await(a, bound, 0, now.Add(m.cfg.Confirm))
	case o.Result == Unknown:
		a.doubt = now.Add(m.cfg.BindTimeout)
		m.look(now, a)
	case o.Result == Conflict:
		m.undo(now, a, "")
	case now.Before(a.doubt):
		m.await(a, resting, 0, now.Add(m.cfg.LookAgain))
	default:
		m.undo(now, a, "binding to node \""+a.node+"\" was refused: "+o.Why)
	}
}

// look asks how the attempt's pod is.
func (m *Machine) look(now time.Time, a *attempt) {
	pod := m.state.Pod(a.uid)
	id := m.emit(func(id uint64) Effect { return Look{ID: id, Pod: pod} })
	m.await(a, looking, id, now.Add(m.cfg.BindTimeout))
}

// seen takes in what a Look found.
func (m *Machine) seen(now time.Time, a *attempt, p *model.Pod) {
	if p == nil || p.UID != a.uid {
		m.removePod(now, a.uid)
		return
	}
	m.upsertPod(now, p)
	if m.byPod[a.uid] != a { // it is bound, or finished
		return
	}
	if _, ok := m.state.NodeID(a.node); ok && !p.Deleting {
		m.bind(now, a, m.state.Pod(a.uid), true)
		return
	}
	m.over(a.uid)
	m.forget(now, a.uid)
	m.queue.Fail(now, a.uid)
	m.requeue(now, p)
}
