package intake

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
)

// evicted is how a pod's node threw it out, or why it did not take it; nil when it did not, or that
// says nothing of the node. A pod is thrown out with phase Failed, reason Evicted, and a message that
// begins with what the node was low on; when that was, the DisruptionTarget condition says,
// which every eviction under pressure leaves. One that was not taken began and ended at once.
func evicted(pod *corev1.Pod) *model.Eviction {
	s := &pod.Status
	if s.Phase != corev1.PodFailed {
		return nil
	}
	if words, ok := strings.CutPrefix(s.Message, "Pod was rejected: "); ok {
		return rejected(pod, words)
	}
	rest, ok := strings.CutPrefix(s.Message, "The node was low on resource: ")
	if !ok || s.Reason != "Evicted" {
		return nil // it used more than it may: that says nothing of the node
	}
	what, _, _ := strings.Cut(rest, ".")
	p, ok := map[string]model.Pressure{"memory": model.MemoryPressure, "ephemeral-storage": model.DiskPressure,
		"inodes": model.DiskPressure, "pids": model.PIDPressure}[what]
	if !ok {
		return nil
	}
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return &model.Eviction{Node: pod.Spec.NodeName, Pressure: p, At: c.LastTransitionTime.Truncate(time.Second)}
		}
	}
	return nil
}

// rejected is why a node did not take a pod.
func rejected(pod *corev1.Pod, words string) *model.Eviction {
	if pod.Status.StartTime == nil {
		return nil
	}
	e := &model.Eviction{Node: pod.Spec.NodeName, At: pod.Status.StartTime.Truncate(time.Second)}
	if resource, ok := strings.CutPrefix(pod.Status.Reason, "OutOf"); ok && resource != "Disk" {
		_, figures, _ := strings.Cut(words, ", requested: ")
		var asked, used, size int64
		if n, _ := fmt.Sscanf(figures, "%d, used: %d, capacity: %d", &asked, &used, &size); n < 3 {
			return nil
		}
		e.Lack = &model.Lack{Pod: string(pod.UID), Resource: resource, Free: size - used}
		return e
	}
	if pod.Status.Reason == "OutOfDisk" {
		e.Pressure = model.DiskPressure
		return e
	}
	names, ok := strings.CutPrefix(words, "The node had condition: [")
	if !ok || pod.Status.Reason != "Evicted" {
		return nil
	}
	// Of several the one that keeps most pods off.
	names, _, _ = strings.Cut(names, "]")
	for _, k := range []corev1.NodeConditionType{corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeMemoryPressure} {
		if slices.Contains(strings.Fields(names), string(k)) {
			e.Pressure, _ = pressureOf(k)
			return e
		}
	}
	return nil
}

// Eviction is what it says of a pod's node that it threw the pod out, or did not take it; nil when it did neither.
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
