package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/pressure"
)

// Recall has the machine go on with the conditions that the API has of the node: a pressure
// lasts for its transition period from the restart on, a full disk from when it was full. The kubelet
// forgets both, so that the pods that it has just thrown out come back.
func (s *Shell) Recall(conditions []corev1.NodeCondition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	Recall(time.Now(), conditions, s.machine, s.reserve)
}

// Resume implements agent.Resumer.
func (s *Shell) Resume(pod *corev1.Pod, since time.Time) (by time.Time, done func()) {
	by = SoftEnd(&s.opts.Config, pod, since)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dying[pod.UID] = dying{by: by}
	return by, func() { s.over(pod.UID) }
}

// SoftEnd is when the grace of a pod ends that a soft threshold has evicted.
func SoftEnd(c *pressure.Config, pod *corev1.Pod, since time.Time) time.Time {
	return since.Add(time.Duration(c.SoftGrace(pod.Spec.TerminationGracePeriodSeconds)) * time.Second)
}

// Recall has a machine and a reserve go on with conditions of a node.
func Recall(now time.Time, conditions []corev1.NodeCondition, m *pressure.Machine, r *pressure.Reserve) {
	var are [model.NumPressures]bool
	for i := range conditions {
		c := &conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		if c.Type == OutOfDisk {
			r.Restore(pressure.Condition{True: true, Since: c.LastTransitionTime.Time})
		}
		for k := range are {
			are[k] = are[k] || string(c.Type) == pressure.ConditionType(model.Pressure(k))
		}
	}
	m.Restore(now, are)
}
