package scheduling

import "github.com/berthproject/berth/engine/queue"

// PodState says where a pod is: in which pool of the queue, and whether it is in
// an attempt. Both may be, until an attempt is over. For who looks on: simulations, tests.
func (m *Machine) PodState(uid string) (pool queue.Pool, attempted bool) {
	_, attempted = m.attempts[uid]
	return m.queue.PoolOf(uid), attempted
}
