package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// SoftGraceEnd returns when the grace period of a pod ends that a soft threshold evicted at since.
func SoftGraceEnd(c *nodepressure.Config, pod *corev1.Pod, since time.Time) time.Time {
	return since.Add(time.Duration(c.SoftGrace(pod.Spec.TerminationGracePeriodSeconds)) * time.Second)
}

// RestoreConditions restores the conditions of a node into a machine and a reserve.
func RestoreConditions(now time.Time, conditions []corev1.NodeCondition, m *nodepressure.Machine, r *nodepressure.DiskReserve) {
	var active [model.NumPressures]bool
	for i := range conditions {
		c := &conditions[i]
		if c.Status != corev1.ConditionTrue {
			continue
		}
		if c.Type == OutOfDisk {
			r.Restore(nodepressure.Condition{True: true, Since: c.LastTransitionTime.Time})
		}
		for k := range active {
			active[k] = active[k] || string(c.Type) == nodepressure.ConditionType(model.Pressure(k))
		}
	}
	m.Restore(now, active)
}
