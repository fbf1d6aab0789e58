package intake

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
)

// evicted is how a pod's node threw it out, nil when it did not: phase Failed, reason
// Evicted, and a message that begins with what the node was low on. When that was, the
// DisruptionTarget condition says, which every eviction under pressure leaves.
func evicted(pod *corev1.Pod) *model.Eviction {
	const low = "The node was low on resource: "
	if pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "Evicted" {
		return nil
	}
	rest, ok := strings.CutPrefix(pod.Status.Message, low)
	if !ok {
		return nil // it used more than it may: that says nothing of the node
	}
	what, _, _ := strings.Cut(rest, ".")
	var p model.Pressure
	switch what {
	case "memory":
		p = model.MemoryPressure
	case "ephemeral-storage", "inodes":
		p = model.DiskPressure
	case "pids":
		p = model.PIDPressure
	default:
		return nil
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return &model.Eviction{Node: pod.Spec.NodeName, Pressure: p, At: c.LastTransitionTime.Truncate(time.Second)}
		}
	}
	return nil
}

// Eviction is how a pod's node threw it out; nil when it did not.
func (in *Intake) Eviction(pod *corev1.Pod) *model.Eviction { return evicted(pod) }

func pressureOf(t corev1.NodeConditionType) (model.Pressure, bool) {
	switch t {
	case corev1.NodeMemoryPressure:
		return model.MemoryPressure, true
	case corev1.NodeDiskPressure:
		return model.DiskPressure, true
	case corev1.NodePIDPressure:
		return model.PIDPressure, true
	}
	return 0, false
}

func later(a, b metav1.Time) time.Time {
	if a.Before(&b) {
		a = b
	}
	return a.Truncate(time.Second) // as the API keeps it
}
