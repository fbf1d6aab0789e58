package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/queue"
)

// hinter is a Placer that says what can help a waiting pod. Pods of others are woken
// by any change of a kind that concerns the rules which rejected them.
type hinter interface {
	QueueingHints(pod *model.Pod) (key any, w *placement.QueueingHints)
}

// waitingKind is what a waiting pod has in common with others.
func (m *Machine) waitingKind(uid string) (any, queue.QueueingHints) {
	pod := m.state.Pod(uid)
	if pod == nil {
		return nil, nil
	}
	w, ok := m.placers[pod.Spec.SchedulerName].(hinter)
	if !ok {
		return nil, nil
	}
	key, k := w.QueueingHints(pod)
	return key, k
}

// notifyChange tells the queue of a change, after the state knows of it.
func (m *Machine) notifyChange(now time.Time, d decision.Delta) {
	if v := m.state.Index().KeysVersion(); v != m.keysVersion {
		m.keysVersion = v
		m.queue.Regroup(now)
	}
	m.queue.HandleEvent(now, d)
}

// delta is a change of an object; old and is are nil when there is none.
func delta[T any](kinds decision.ClusterEvents, old, is *T) decision.Delta {
	d := decision.Delta{Events: kinds}
	if old != nil {
		d.Old = old
	}
	if is != nil {
		d.New = is
	}
	return d
}

// notifyAssumed tells that a pod takes room on a node from now on: it was assumed. What it
// held elsewhere as nominated is free.
func (m *Machine) notifyAssumed(now time.Time, uid string) {
	m.queue.MarkAssumed(uid)
	p := m.state.Pod(uid)
	m.notifyChange(now, delta(decision.PodAssigned, nil, p))
	if p.NominatedNodeName != "" && p.NominatedNodeName != p.NodeName {
		bare := *p
		bare.NodeName = ""
		m.notifyFreed(now, &bare)
	}
}

// forgetAssumed ends the assumption of a pod and tells of the room and the volumes that are free
// again.
func (m *Machine) forgetAssumed(now time.Time, uid string) {
	old, held := m.state.Pod(uid), m.state.HasAssumedVolumes(uid)
	m.state.Forget(uid)
	if occupiesNode(old) {
		m.notifyFreed(now, old)
	}
	m.notifyVolumesFreed(now, held)
}

// notifyFreed tells that a pod does not hold its room any more: it was counted, or
// nominated, as old says.
func (m *Machine) notifyFreed(now time.Time, old *model.Pod) {
	m.notifyChange(now, delta(decision.PodRemoved, old, nil))
}

// updateNominated tells that the state knows of another nomination of a waiting pod,
// or of none. It is not as others any more, or again.
func (m *Machine) updateNominated(now time.Time, pod *model.Pod) {
	m.queue.Update(now, queuePod(pod), false)
}

// Waiting calls yield with all pods in the queue, in its order, until it says no.
func (m *Machine) Waiting(yield func(queue.PendingPod) bool) { m.queue.PendingPods(yield) }

// WakeupCounts are counts of what became of waiting pods.
func (m *Machine) WakeupCounts() queue.Counts { return m.queue.Counts() }
