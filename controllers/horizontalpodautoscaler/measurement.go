package horizontalpodautoscaler

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/engine/autoscaling"
)

// measurement computes the metrics of one decision.
type measurement struct {
	*reconciliation
	target   *autoscalingv1.Scale
	selector labels.Selector
	pods     []*corev1.Pod
}

// result is the result of a metric: its proposal and what the status shows.
type result struct {
	autoscaling.Metric
	status autoscalingv2.MetricStatus
}

// failure is why a metric has no value, with the reason of the condition and the event.
type failure struct {
	reason string
	err    error
}

func (f *failure) Error() string { return f.err.Error() }

// metric computes one metric. Its error wraps a failure.
func (m *measurement) metric(ctx context.Context, spec *autoscalingv2.MetricSpec) (result, error) {
	var res result
	var reason, description string
	var err error
	switch {
	case spec.Type == autoscalingv2.ResourceMetricSourceType && spec.Resource != nil:
		s := spec.Resource
		reason, description = "FailedGetResourceMetric", string(s.Name)+" resource metric value"
		res.Metric, res.status, err = m.resource(ctx, s.Name, "", &s.Target)
	case spec.Type == autoscalingv2.ContainerResourceMetricSourceType && spec.ContainerResource != nil:
		s := spec.ContainerResource
		reason, description = "FailedGetContainerResourceMetric", s.Container+" container metric value"
		res.Metric, res.status, err = m.resource(ctx, s.Name, s.Container, &s.Target)
	case spec.Type == autoscalingv2.PodsMetricSourceType && spec.Pods != nil:
		reason, description = "FailedGetPodsMetric", "pods metric value"
		res.Metric, res.status, err = m.podsMetric(spec.Pods)
	case spec.Type == autoscalingv2.ObjectMetricSourceType && spec.Object != nil:
		reason, description = "FailedGetObjectMetric", "object metric value"
		res.Metric, res.status, err = m.objectMetric(spec.Object)
	case spec.Type == autoscalingv2.ExternalMetricSourceType && spec.External != nil:
		reason, description = "FailedGetExternalMetric", spec.External.Metric.Name+" external metric value"
		res.Metric, res.status, err = m.externalMetric(spec.External)
	default:
		reason, description, err = "InvalidMetricSourceType", "metric value", fmt.Errorf("unknown metric source type %q", spec.Type)
	}
	if err != nil {
		return result{Metric: autoscaling.Metric{Failed: true}}, fmt.Errorf("failed to get %s: %w", description, &failure{reason, err})
	}
	return res, nil
}

// valueStatus returns the values that the status shows.
func valueStatus(p autoscaling.Proposal, target *autoscalingv2.MetricTarget) autoscalingv2.MetricValueStatus {
	out := autoscalingv2.MetricValueStatus{AverageValue: resource.NewMilliQuantity(p.Average, resource.DecimalSI)}
	if target.AverageUtilization != nil {
		out.AverageUtilization = &p.Utilization
	}
	return out
}
