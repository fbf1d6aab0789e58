package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// RestoreConditions restores the conditions that the API has of the node. A pressure condition
// lasts for its transition period from now on, OutOfDisk since its last transition. The kubelet
// forgets conditions on restart, so evicted pods return to the node.
func (s *Manager) RestoreConditions(conditions []corev1.NodeCondition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	Recall(time.Now(), conditions, s.machine, s.reserve)
}

// ResumeEviction implements agent.EvictionResumer.
func (s *Manager) ResumeEviction(pod *corev1.Pod, since time.Time) (by time.Time, done func()) {
	by = SoftGraceEnd(&s.opts.Config, pod, since)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminating[pod.UID] = termination{by: by}
	return by, func() { s.podTerminated(pod.UID) }
}

// SoftGraceEnd returns when the grace period of a softly evicted pod ends.
func SoftGraceEnd(c *nodepressure.Config, pod *corev1.Pod, since time.Time) time.Time {
	return since.Add(time.Duration(c.SoftGrace(pod.Spec.TerminationGracePeriodSeconds)) * time.Second)
}

// Recall restores the conditions of a node into a machine and a reserve.
func Recall(now time.Time, conditions []corev1.NodeCondition, m *nodepressure.Machine, r *nodepressure.DiskReserve) {
	var are [model.NumPressures]bool
	for i := range conditions {
		c := &conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		if c.Type == OutOfDisk {
			r.Restore(nodepressure.Condition{True: true, Since: c.LastTransitionTime.Time})
		}
		for k := range are {
			are[k] = are[k] || string(c.Type) == nodepressure.ConditionType(model.Pressure(k))
		}
	}
	m.Restore(now, are)
}
