//go:build linux

package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// RestoreConditions restores the node's conditions from the API. The transition period of a pressure condition starts
// now, that of OutOfDisk at its last transition. The kubelet does not restore conditions, so evicted pods can return to
// the node right after it restarts.
func (m *Manager) RestoreConditions(conditions []corev1.NodeCondition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	RestoreConditions(time.Now(), conditions, m.machine, m.reserve)
}

// ResumeEviction implements agent.EvictionResumer.
func (m *Manager) ResumeEviction(pod *corev1.Pod, since time.Time) (deadline time.Time, done func()) {
	deadline = SoftGraceEnd(&m.opts.Config, pod, since)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.terminating[pod.UID] = termination{deadline: deadline}
	return deadline, func() { m.podTerminated(pod.UID) }
}
