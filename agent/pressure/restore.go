package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// RestoreConditions has the machine go on with the conditions that the API has of the node: a pressure
// lasts for its transition period from the restart on, a full disk from when it was full. The kubelet
// forgets both, so that the pods that it has just thrown out come back.
func (s *Manager) RestoreConditions(conditions []corev1.NodeCondition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	Recall(time.Now(), conditions, s.machine, s.reserve)
}

// ResumeEviction implements agent.Resumer.
func (s *Manager) ResumeEviction(pod *corev1.Pod, since time.Time) (by time.Time, done func()) {
	by = SoftGraceEnd(&s.opts.Config, pod, since)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminating[pod.UID] = termination{by: by}
	return by, func() { s.podTerminated(pod.UID) }
}

// SoftGraceEnd is when the grace of a pod ends that a soft threshold has evicted.
func SoftGraceEnd(c *nodepressure.Config, pod *corev1.Pod, since time.Time) time.Time {
	return since.Add(time.Duration(c.SoftGrace(pod.Spec.TerminationGracePeriodSeconds)) * time.Second)
}

// Recall has a machine and a reserve go on with conditions of a node.
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
