package scheduling

import (
	"time"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/queue"
)

// waker is a Placer that says what can help a waiting pod. Pods of others are woken
// by any change of a kind that concerns the rules which rejected them.
type waker interface {
	Waiter(pod *model.Pod) (key any, w *placement.Waiter)
}

// kind is what a waiting pod has in common with others.
func (m *Machine) kind(uid string) (any, queue.Kind) {
	pod := m.state.Pod(uid)
	if pod == nil {
		return nil, nil
	}
	w, ok := m.placers[pod.Spec.SchedulerName].(waker)
	if !ok {
		return nil, nil
	}
	key, k := w.Waiter(pod)
	return key, k
}

// changed tells the queue of a change, after the state knows of it.
func (m *Machine) changed(now time.Time, d decision.Delta) {
	if v := m.state.Index().KeysVersion(); v != m.grouped {
		m.grouped = v
		m.queue.Regroup(now)
	}
	m.queue.Changed(now, d)
}

// delta is a change of an object; old and is are nil when there is none.
func delta[T any](kinds decision.Change, old, is *T) decision.Delta {
	d := decision.Delta{Kinds: kinds}
	if old != nil {
		d.Old = old
	}
	if is != nil {
		d.New = is
	}
	return d
}

// taken tells that a pod takes room on a node from now on: it was assumed. What it
// held elsewhere as nominated is free.
func (m *Machine) taken(now time.Time, uid string) {
	m.queue.Granted(uid)
	p := m.state.Pod(uid)
	m.changed(now, delta(decision.PodAssigned, nil, p))
	if p.Nominated != "" && p.Nominated != p.NodeName {
		bare := *p
		bare.NodeName = ""
		m.freed(now, &bare)
	}
}

// forget ends the assumption of a pod and tells of the room and the volumes that are free
// again.
func (m *Machine) forget(now time.Time, uid string) {
	old, held := m.state.Pod(uid), m.state.HoldsVolumes(uid)
	m.state.Forget(uid)
	if counted(old) {
		m.freed(now, old)
	}
	m.volumesFreed(now, held)
}

// freed tells that a pod does not hold its room any more: it was counted, or
// nominated, as old says.
func (m *Machine) freed(now time.Time, old *model.Pod) {
	m.changed(now, delta(decision.PodRemoved, old, nil))
}

// renominated tells that the state knows of another nomination of a waiting pod,
// or of none. It is not as others any more, or again.
func (m *Machine) renominated(now time.Time, pod *model.Pod) {
	m.queue.Update(now, queued(pod), false)
}

// Waiting calls yield with all pods in the queue, in its order, until it says no.
func (m *Machine) Waiting(yield func(queue.Waiting) bool) { m.queue.Waiting(yield) }

// Woken are counts of what became of waiting pods.
func (m *Machine) Woken() queue.Counts { return m.queue.Counts() }
