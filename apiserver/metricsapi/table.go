package metricsapi

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

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
