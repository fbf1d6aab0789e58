package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/queueinghints"
	"github.com/berthproject/berth/engine/queue"
)

// hinter is a Placer with queueing hints. Pods of other Placers are requeued by every event that
// concerns the plugins which rejected them.
type hinter interface {
	QueueingHints(pod *model.Pod) (key any, hints *queueinghints.Hints)
}

// queueingHints returns the key of a waiting pod and its queueing hints.
func (m *Machine) queueingHints(uid string) (any, queue.QueueingHints) {
	pod := m.state.Pod(uid)
	if pod == nil {
		return nil, nil
	}
	h, ok := m.placers[pod.Spec.SchedulerName].(hinter)
	if !ok {
		return nil, nil
	}
	key, hints := h.QueueingHints(pod)
	return key, hints
}

// notifyChange requeues pods after a change, which the state must already include.
func (m *Machine) notifyChange(now time.Time, d decision.Delta) {
	if v := m.state.Index().KeysVersion(); v != m.keysVersion {
		m.keysVersion = v
		m.queue.Regroup(now)
	}
	m.queue.HandleEvent(now, d)
}

// delta returns a change of an object. old is nil if the object was added, updated if it was deleted.
func delta[T any](events decision.ClusterEvents, old, updated *T) decision.Delta {
	d := decision.Delta{Events: events}
	if old != nil {
		d.Old = old
	}
	if updated != nil {
		d.New = updated
	}
	return d
}

// notifyAssumed requeues pods after a pod was assumed, and for the resources that it had reserved
// on another node.
func (m *Machine) notifyAssumed(now time.Time, uid string) {
	m.queue.MarkAssumed(uid)
	p := m.state.Pod(uid)
	m.notifyChange(now, delta(decision.PodAssigned, nil, p))
	if p.NominatedNodeName != "" && p.NominatedNodeName != p.NodeName {
		unassigned := *p
		unassigned.NodeName = ""
		m.notifyFreed(now, &unassigned)
	}
}

// forgetAssumed forgets an assumed pod and requeues pods for its resources and volumes.
func (m *Machine) forgetAssumed(now time.Time, uid string) {
	old, hadVolumes := m.state.Pod(uid), m.state.HasAssumedVolumes(uid)
	m.state.Forget(uid)
	if occupiesNode(old) {
		m.notifyFreed(now, old)
	}
	m.notifyVolumesFreed(now, hadVolumes)
}

// notifyFreed requeues pods and evaluates deferred resizes for the resources that a pod used or reserved, given
// the pod as it was.
func (m *Machine) notifyFreed(now time.Time, old *model.Pod) {
	m.notifyChange(now, delta(decision.PodRemoved, old, nil))
	m.evaluateResizesFor(old)
}

// updateNominated updates a waiting pod in the queue after its nomination changed.
func (m *Machine) updateNominated(now time.Time, pod *model.Pod) {
	m.queue.Update(now, queuePod(pod), false)
}

// WakeupCounts returns counts of requeued pods.
func (m *Machine) WakeupCounts() queue.Counts { return m.queue.Counts() }
