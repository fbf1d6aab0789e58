package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// maxBinds is how often an attempt asks for its node while it has no answer: again at
// once, then after Config.LookAgain, and after twice as long each time.
const maxBinds = 5

// bind asks for the attempt's node.
func (m *Machine) bind(now time.Time, a *attempt, pod *model.Pod, again bool) {
	a.binds++
	id := m.emit(func(id uint64) Effect {
		return Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.first, Again: again}
	})
	if !again {
		a.begun, a.opening = now, id
	}
	m.await(a, binding, id, now.Add(m.cfg.BindTimeout))
}

// wasBound takes in the answer to a Bind.
func (m *Machine) wasBound(now time.Time, a *attempt, o Outcome) {
	switch {
	case o.Result == Done:
		m.queue.Remove(a.uid)
		if !a.doubt.IsZero() {
			m.granted(now, a)
			a.doubt = time.Time{}
		}
		m.await(a, bound, 0, now.Add(m.cfg.Confirm))
	case o.Result == Unknown:
		m.unheard(now, a, o.Why)
	case now.Before(a.doubt):
		a.why = o.Why
		m.await(a, resting, 0, now.Add(m.cfg.LookAgain))
	case o.Result == Conflict:
		m.undo(now, a, "")
	default:
		m.undo(now, a, "binding to node \""+a.node+"\" was refused: "+o.Why)
	}
}

// settled ends the attempt of a pod that is finished or has a node. Where a Bind for that
// node had no answer, or has none in the end, it is told that it was granted.
func (m *Machine) settled(now time.Time, p *model.Pod) {
	a := m.byPod[p.UID]
	m.over(p.UID)
	if a != nil && a.node == p.NodeName && (a.opening != 0 || !a.doubt.IsZero()) {
		m.granted(now, a)
	}
}

// granted tells that the attempt's pod has its node, unless the answer to its first Bind does, or may yet.
func (m *Machine) granted(now time.Time, a *attempt) {
	if a.opening != 0 {
		a.found = true
		m.byEffect[a.opening] = a
		return
	}
	pod := m.state.Pod(a.uid)
	if pod == nil || a.told {
		return // it is gone, or somebody knows
	}
	a.told = true
	m.emit(func(id uint64) Effect {
		return Bound{Bind: Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.first}, Took: now.Sub(a.begun)}
	})
}

// opened takes in the answer to the attempt's first Bind, whenever it comes, as far as it is about who
// tells of it: an answer that says Done does.
func (m *Machine) opened(now time.Time, a *attempt, o Outcome) {
	delete(m.byEffect, o.ID)
	a.opening, a.told = 0, o.Result == Done
	if a.found && (o.Result == Unknown || !a.doubt.IsZero() || a.binds > 1) {
		m.granted(now, a)
	}
}

// unheard looks at a pod whose Bind had no answer.
func (m *Machine) unheard(now time.Time, a *attempt, why string) {
	a.doubt, a.why = now.Add(m.cfg.BindTimeout), why
	m.look(now, a)
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
		m.unbound(now, a)
		return
	}
	m.over(a.uid)
	m.forget(now, a.uid)
	m.queue.Fail(now, a.uid)
	m.requeue(now, p)
}

// unbound goes on with an attempt whose pod a Look found without a node. The same node is
// asked for again, less and less often, since a server that fails is not helped by being
// asked, and then no more. The room is given back when a Look that was sent after the
// doubt was over finds the pod unbound still.
func (m *Machine) unbound(now time.Time, a *attempt) {
	sent := a.deadline.Add(-m.cfg.BindTimeout)
	again := a.begun.Add(m.cfg.LookAgain * (1<<(a.binds-1) - 1))
	switch {
	case a.binds < maxBinds && now.Before(again):
		m.await(a, resting, 0, again)
	case a.binds < maxBinds:
		m.bind(now, a, m.state.Pod(a.uid), true)
	case sent.Before(a.doubt):
		m.await(a, resting, 0, a.doubt)
	default:
		m.undo(now, a, "binding to node \""+a.node+"\" was not granted: "+a.why)
	}
}
