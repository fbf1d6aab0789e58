package pressure

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// OutOfDisk is the condition of a node whose file systems have less free space than the reserve.
const OutOfDisk corev1.NodeConditionType = nodepressure.ReasonOutOfDisk

// Conditions converts the conditions of a machine and, if outOfDisk, of a reserve to node
// conditions. The transition time of a condition that never changed is start.
func Conditions(m *nodepressure.Machine, r *nodepressure.DiskReserve, start time.Time, outOfDisk bool) (out []corev1.NodeCondition) {
	add := func(conditionType corev1.NodeConditionType, c nodepressure.Condition, reason, message string) {
		status, since := corev1.ConditionFalse, c.Since
		if c.True {
			status = corev1.ConditionTrue
		}
		if since.IsZero() {
			since = start
		}
		out = append(out, corev1.NodeCondition{Type: conditionType, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(since)})
	}
	for k, c := range m.Conditions() {
		reason, message := nodepressure.ConditionText(model.Pressure(k), c.True)
		add(corev1.NodeConditionType(nodepressure.ConditionType(model.Pressure(k))), c, reason, message)
	}
	if outOfDisk {
		reason, message := r.ConditionText()
		add(OutOfDisk, r.Condition(), reason, message)
	}
	return out
}
