package scheduling

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/queue"
)

// PendingPods calls yield with all pods in the queue's pools, in no particular order, until it returns false.
func (m *Machine) PendingPods(yield func(queue.PendingPod) bool) { m.queue.Each(yield) }

// Rejected calls f once for each class of equal pods of the unschedulable pool. It passes the
// profile, the plugins that rejected the pods, and their number. It visits at most maxClasses
// classes, starting at index from, and returns the index to continue at, or 0 at the end.
func (m *Machine) Rejected(from, maxClasses int, f func(profile string, rejectedBy decision.PluginSet, n int)) (next int) {
	return m.queue.UnschedulableGroups(from, maxClasses, func(uid string, rejectedBy decision.PluginSet, n int) {
		if pod := m.state.Pod(uid); pod != nil {
			f(pod.Spec.SchedulerName, rejectedBy, n)
		}
	})
}

// PodState returns the queue's pool of a pod and whether it has an attempt. Both can be set until
// an attempt ends. It is for simulations and tests.
func (m *Machine) PodState(uid string) (pool queue.Pool, attempted bool) {
	_, attempted = m.attempts[uid]
	return m.queue.PoolOf(uid), attempted
}
