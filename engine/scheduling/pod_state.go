package scheduling

import "github.com/berthproject/berth/engine/queue"

// PodState returns the queue's pool of a pod and whether it has an attempt. Both can be set until
// an attempt ends. It is for simulations and tests.
func (m *Machine) PodState(uid string) (pool queue.Pool, attempted bool) {
	_, attempted = m.attempts[uid]
	return m.queue.PoolOf(uid), attempted
}
