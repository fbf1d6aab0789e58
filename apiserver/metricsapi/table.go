package metricsapi

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

func newTable(options runtime.Object, rows ...metav1.TableRow) *metav1.Table {
	t := &metav1.Table{Rows: rows}
	if rows == nil {
		t.Rows = []metav1.TableRow{}
	}
	if o, ok := options.(*metav1.TableOptions); !ok || !o.NoHeaders {
		t.ColumnDefinitions = []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: "Name of the resource."},
			{Name: "cpu", Type: "string", Description: "CPU usage in cores."},
			{Name: "memory", Type: "string", Description: "Working set memory."},
			{Name: "Window", Type: "string", Format: "duration", Description: "Time window of the CPU measurement."},
		}
	}
	return t
}

func newRow(object runtime.Object, name string, usage corev1.ResourceList, window metav1.Duration) metav1.TableRow {
	return metav1.TableRow{
		Cells:  []any{name, usage.Cpu().String(), usage.Memory().String(), window.Duration.String()},
		Object: runtime.RawExtension{Object: object},
	}
}
