package conversion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
)

// nodeEviction returns the cause for which the node evicted or rejected the pod. It returns nil if neither happened, or
// if the cause is unrelated to the node. An evicted pod has phase Failed, reason Evicted and a message that names the
// resource under pressure. Its DisruptionTarget condition, which every node-pressure eviction sets, has the time. A
// rejected pod started and failed at the same time.
func nodeEviction(pod *corev1.Pod) *model.NodeEviction {
	s := &pod.Status
	if s.Phase != corev1.PodFailed {
		return nil
	}
	if message, ok := strings.CutPrefix(s.Message, "Pod was rejected: "); ok {
		return admissionRejection(pod, message)
	}
	resource, ok := strings.CutPrefix(s.Message, nodepressure.EvictionMessagePrefix)
	if !ok || s.Reason != nodepressure.ReasonEvicted {
		return nil // for example, the pod exceeded its own limit
	}
	name, _, _ := strings.Cut(resource, ".")
	p, ok := map[string]model.Pressure{"memory": model.MemoryPressure, "ephemeral-storage": model.DiskPressure,
		"inodes": model.DiskPressure, "pids": model.PIDPressure}[name]
	if !ok {
		return nil
	}
	if c := ActiveDisruptionTarget(pod); c != nil {
		return &model.NodeEviction{Node: pod.Spec.NodeName, Pressure: p, At: c.LastTransitionTime.Truncate(time.Second)}
	}
	return nil
}

// admissionRejection returns why the node rejected a pod at admission.
func admissionRejection(pod *corev1.Pod, message string) *model.NodeEviction {
	if pod.Status.StartTime == nil {
		return nil
	}
	e := &model.NodeEviction{Node: pod.Spec.NodeName, At: pod.Status.StartTime.Truncate(time.Second)}
	if resource, ok := strings.CutPrefix(pod.Status.Reason, "OutOf"); ok && resource != "Disk" {
		_, quantities, _ := strings.Cut(message, ", requested: ")
		var requested, used, capacity int64
		if n, _ := fmt.Sscanf(quantities, "%d, used: %d, capacity: %d", &requested, &used, &capacity); n < 3 {
			return nil
		}
		e.Shortage = &model.ResourceShortage{Pod: string(pod.UID), Resource: resource, Free: capacity - used}
		return e
	}
	if pod.Status.Reason == "OutOfDisk" {
		e.Pressure = model.DiskPressure
		return e
	}
	names, ok := nodepressure.RejectingConditions(message)
	if !ok || pod.Status.Reason != nodepressure.ReasonEvicted {
		return nil
	}
	// Of several conditions, use the one that rejects the most pods.
	for _, k := range []corev1.NodeConditionType{corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeMemoryPressure} {
		if slices.Contains(names, string(k)) {
			e.Pressure, _ = conditionPressure(k)
			return e
		}
	}
	return nil
}

// Eviction returns why the pod's node evicted or rejected it, or nil.
func (conv *Converter) Eviction(pod *corev1.Pod) *model.NodeEviction { return nodeEviction(pod) }

func conditionPressure(t corev1.NodeConditionType) (model.Pressure, bool) {
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

// laterTime returns the later of two times, with the precision of the API.
func laterTime(a, b metav1.Time) time.Time {
	if a.Before(&b) {
		a = b
	}
	return a.Truncate(time.Second)
}
