//go:build linux

package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// RestoreConditions restores the node's conditions from the API. The transition period of a pressure condition starts
// now, that of OutOfDisk at its last transition. The kubelet does not restore conditions, so evicted pods can return to
// the node right after it restarts.
func (s *Manager) RestoreConditions(conditions []corev1.NodeCondition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	RestoreConditions(time.Now(), conditions, s.machine, s.reserve)
}

// ResumeEviction implements agent.EvictionResumer.
func (s *Manager) ResumeEviction(pod *corev1.Pod, since time.Time) (deadline time.Time, done func()) {
	deadline = SoftGraceEnd(&s.opts.Config, pod, since)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminating[pod.UID] = termination{deadline: deadline}
	return deadline, func() { s.podTerminated(pod.UID) }
}
