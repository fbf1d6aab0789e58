package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/model"
)

// stage is how far an attempt has come.
type stage uint8

const (
	binding stage = iota // assumed; a Bind is under way
	bound                // the bind was granted; the pod is not seen on its node yet
	looking              // a Look is under way
	resting              // the last Look failed; the next one is due at the deadline
)

// attempt is a pod that is assumed on a node.
type attempt struct {
	uid, node string
	number    int
	first     time.Time
	stage     stage
	id        uint64 // of the awaited effect; 0 when none is
	deadline  time.Time
	// doubt lasts while an unanswered Bind may still be granted: until then a
	// refusal of another one proves nothing.
	doubt time.Time
}

// bind asks for the attempt's node.
func (m *Machine) bind(now time.Time, a *attempt, pod *model.Pod, again bool) {
	id := m.emit(func(id uint64) Effect {
		return Bind{ID: id, Pod: pod, Node: a.node, Attempt: a.number, First: a.first, Again: again}
	})
	m.await(a, binding, id, now.Add(m.cfg.BindTimeout))
}

// look asks how the attempt's pod is.
func (m *Machine) look(now time.Time, a *attempt) {
	pod := m.state.Pod(a.uid)
	id := m.emit(func(id uint64) Effect { return Look{ID: id, Pod: pod} })
	m.await(a, looking, id, now.Add(m.cfg.BindTimeout))
}

// await moves the attempt to a stage and supersedes the effect it waited for.
func (m *Machine) await(a *attempt, s stage, id uint64, deadline time.Time) {
	delete(m.byEffect, a.id)
	a.stage, a.id, a.deadline = s, id, deadline
	if id != 0 {
		m.byEffect[id] = a
	}
	m.deadlines.add(deadline, a)
}

// over ends the attempt of a pod, if there is one; what comes for it from now on is dropped.
func (m *Machine) over(uid string) {
	if a, ok := m.byPod[uid]; ok {
		delete(m.byEffect, a.id)
		delete(m.byPod, uid)
		a.deadline = time.Time{}
	}
}

// outcome takes in the answer to an effect.
func (m *Machine) outcome(now time.Time, o Outcome) {
	if r, ok := m.byReport[o.ID]; ok {
		m.reported(now, r, o)
		return
	}
	a, ok := m.byEffect[o.ID]
	if !ok {
		return // superseded
	}
	switch {
	case a.stage == binding && o.Result == Done:
		m.queue.Remove(a.uid)
		m.await(a, bound, 0, now.Add(m.cfg.Confirm))
	case a.stage == binding && o.Result == Unknown:
		a.doubt = now.Add(m.cfg.BindTimeout)
		m.look(now, a)
	case a.stage == binding && o.Result == Refused && now.Before(a.doubt):
		m.await(a, resting, 0, now.Add(m.cfg.LookAgain))
	case a.stage == binding:
		m.undo(now, a, o)
	case o.Result == Done:
		m.seen(now, a, o.Seen)
	default:
		m.await(a, resting, 0, now.Add(m.cfg.LookAgain))
	}
}

// undo gives the room back and the pod to the queue. After a Conflict the pod is not
// as it was thought to be; the watch will tell, and nothing is reported.
func (m *Machine) undo(now time.Time, a *attempt, o Outcome) {
	m.over(a.uid)
	m.forget(now, a.uid)
	pod := m.state.Pod(a.uid)
	if o.Result == Conflict {
		m.queue.Fail(now, a.uid)
	} else {
		m.fail(now, pod, a.number, "binding to node \""+a.node+"\" was refused: "+o.Why)
	}
	m.requeue(now, pod)
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

// expire acts on what was not answered in time.
func (m *Machine) expire(now time.Time) {
	for {
		a, ok := m.deadlines.due(now)
		if !ok {
			return
		}
		if a.stage == binding {
			a.doubt = now.Add(m.cfg.BindTimeout)
		}
		m.look(now, a)
	}
}
