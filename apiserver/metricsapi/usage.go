package metricsapi

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// usageOf returns CPU and working set memory, and the older of the two timestamps. It returns false
// if either is missing.
func usageOf(cpu *stats.CPUStats, memory *stats.MemoryStats) (corev1.ResourceList, metav1.Time, bool) {
	if cpu == nil || cpu.UsageNanoCores == nil || memory == nil || memory.WorkingSetBytes == nil {
		return nil, metav1.Time{}, false
	}
	at := cpu.Time
	if memory.Time.Before(&at) {
		at = memory.Time
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewScaledQuantity(int64(*cpu.UsageNanoCores), resource.Nano),
		corev1.ResourceMemory: *resource.NewQuantity(int64(*memory.WorkingSetBytes), resource.BinarySI),
	}, at, true
}

func newObjectMeta(name, namespace string, labels map[string]string, at metav1.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels, CreationTimestamp: at}
}
