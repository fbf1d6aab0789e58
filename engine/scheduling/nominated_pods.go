package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/queue"
)

// clearNomination clears a pod's nomination. It updates the state immediately and then sends the change.
func (m *Machine) clearNomination(now time.Time, pod *model.Pod) {
	apiNode := pod.NominatedNodeName
	if n := m.nominations[pod.UID]; n != nil {
		apiNode = n.apiNode
	}
	m.dropNomination(now, pod.UID)
	unnominated := pod.WithoutNomination()
	m.state.UpsertPod(unnominated)
	m.updateNominated(now, unnominated)
	if pod.NominatedNodeName != "" {
		m.notifyFreed(now, pod)
	}
	n := &nomination{uid: pod.UID, apiNode: apiNode, effectPod: unnominated}
	m.nominations[pod.UID] = n
	m.sendNomination(now, n)
}

// endNomination drops all preemption state of a pod that no longer needs it.
func (m *Machine) endNomination(now time.Time, uid string) {
	if f := m.preemptionFailures[uid]; f != nil {
		delete(m.preemptionFailures, uid)
		f.pausedUntil = time.Time{}
	}
	m.dropNomination(now, uid)
}

// dropNomination drops a pod's nomination.
func (m *Machine) dropNomination(now time.Time, uid string) {
	n, ok := m.nominations[uid]
	if !ok {
		return
	}
	delete(m.nominations, uid)
	m.abandon(now, n)
}

// abandon ends a nomination. The victims of a Preempt in flight stay marked.
func (m *Machine) abandon(now time.Time, n *nomination) {
	if n.effectID != 0 {
		n.abandoned = true
		return
	}
	n.deadline = time.Time{}
	if n.phase == effectUnanswered {
		m.unmarkVictims(now, n)
	}
}

// withNomination returns a reported pod with the nomination that the machine decided.
func (m *Machine) withNomination(now time.Time, p *model.Pod) *model.Pod {
	n, ok := m.nominations[p.UID]
	if !ok {
		return p
	}
	n.apiNode = p.NominatedNodeName
	switch {
	case n.phase == waitingForVictims && n.node == "" && n.apiNode == "":
		m.dropNomination(now, p.UID)
		return p
	case p.NominatedNodeName == n.node:
		return p
	}
	q := *p
	q.NominatedNodeName = n.node
	return &q
}

// clearLowerNominations clears the nominations of lower-priority pods to the pod's node and
// activates those pods.
func (m *Machine) clearLowerNominations(now time.Time, pod *model.Pod) {
	id, ok := m.state.NodeID(pod.NominatedNodeName)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if q.Spec.Priority < pod.Spec.Priority && !q.Placeholder {
			m.clearNomination(now, q)
			m.activate(now, q.UID)
		}
	})
}

// clearNodeNominations clears the nominations to a deleted node. It must be called before the state
// removes the node.
func (m *Machine) clearNodeNominations(now time.Time, name string) {
	id, ok := m.state.NodeID(name)
	if !ok {
		return
	}
	m.eachNominated(id, func(q *model.Pod) {
		if !q.Placeholder { // its Hold keeps the nomination until it ends
			m.clearNomination(now, q)
			m.activate(now, q.UID)
		}
	})
}

// eachNominated calls f, which may change nominations, for each pod nominated to the node.
func (m *Machine) eachNominated(id cluster.NodeID, f func(*model.Pod)) {
	list := m.scratch
	m.scratch = nil // f may call eachNominated
	list = append(list, m.state.Nominated(id)...)
	for _, q := range list {
		f(q)
	}
	clear(list)
	m.scratch = list[:0]
}

// activate moves a waiting pod to the active pool. A pod in flight is tried again after its
// attempt, even without an event.
func (m *Machine) activate(now time.Time, uid string) {
	if pod := m.state.Pod(uid); pod != nil && m.queue.PoolOf(uid) == queue.InFlight {
		m.queue.Update(now, queuePod(pod), true)
	}
	m.queue.Activate(now, uid)
}
