package tables

import (
	"fmt"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxShownMetrics is the number of metrics of an autoscaler that its row shows.
const maxShownMetrics = 2

const unknownValue = "<unknown>"

func autoscalingTable(gr schema.GroupResource) (Table, bool) {
	if gr != autoscalingv2.Resource("horizontalpodautoscalers") {
		return Table{}, false
	}
	return newTable(autoscalerRow, nameColumn(), stringColumn("Reference", "Target of the autoscaler."), stringColumn("Targets", "Current and target values of the metrics."),
		stringColumn("MinPods", "Lower limit for the number of pods."), stringColumn("MaxPods", "Upper limit for the number of pods."),
		stringColumn("Replicas", "Current number of pods."), ageColumn())
}

func autoscalerRow(h *autoscalingv2.HorizontalPodAutoscaler) []any {
	minPods := "<unset>"
	if n := h.Spec.MinReplicas; n != nil {
		minPods = strconv.Itoa(int(*n))
	}
	return []any{h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, metricsCell(h), minPods,
		int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas), age(&h.ObjectMeta)}
}

// metricsCell returns CURRENT/TARGET of the metrics. A status belongs to the specification with the same index.
func metricsCell(h *autoscalingv2.HorizontalPodAutoscaler) string {
	specs := h.Spec.Metrics
	if len(specs) == 0 {
		return "<none>"
	}
	var cells []string
	for i := range specs[:min(len(specs), maxShownMetrics)] {
		status := autoscalingv2.MetricStatus{}
		if i < len(h.Status.CurrentMetrics) {
			status = h.Status.CurrentMetrics[i]
		}
		cells = append(cells, metricCell(&specs[i], &status))
	}
	cell := strings.Join(cells, ", ")
	if more := len(specs) - maxShownMetrics; more > 0 {
		cell += fmt.Sprintf(" + %d more...", more)
	}
	return cell
}

func metricCell(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	switch {
	case spec.Type == autoscalingv2.ResourceMetricSourceType && spec.Resource != nil:
		if status.Resource != nil {
			current = status.Resource.Current
		}
		return spec.Resource.Name.String() + ": " + resourceCell(&spec.Resource.Target, &current)
	case spec.Type == autoscalingv2.ContainerResourceMetricSourceType && spec.ContainerResource != nil:
		if status.ContainerResource != nil {
			current = status.ContainerResource.Current
		}
		return spec.ContainerResource.Name.String() + ": " + resourceCell(&spec.ContainerResource.Target, &current)
	case spec.Type == autoscalingv2.PodsMetricSourceType && spec.Pods != nil:
		if status.Pods != nil {
			current = status.Pods.Current
		}
		return quantityCell(current.AverageValue) + "/" + quantityCell(spec.Pods.Target.AverageValue)
	case spec.Type == autoscalingv2.ObjectMetricSourceType && spec.Object != nil:
		if status.Object != nil {
			current = status.Object.Current
		}
		return valueCell(&spec.Object.Target, &current)
	case spec.Type == autoscalingv2.ExternalMetricSourceType && spec.External != nil:
		if status.External != nil {
			current = status.External.Current
		}
		return valueCell(&spec.External.Target, &current)
	}
	return "<unknown type>"
}

func resourceCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantityCell(current.AverageValue) + "/" + target.AverageValue.String()
	}
	return percentCell(current.AverageUtilization, unknownValue) + "/" + percentCell(target.AverageUtilization, "<auto>")
}

func valueCell(target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantityCell(current.AverageValue) + "/" + target.AverageValue.String() + " (avg)"
	}
	return quantityCell(current.Value) + "/" + quantityCell(target.Value)
}

func percentCell(value *int32, absent string) string {
	if value == nil {
		return absent
	}
	return strconv.Itoa(int(*value)) + "%"
}

func quantityCell(value *resource.Quantity) string {
	if value == nil {
		return unknownValue
	}
	return value.String()
}
