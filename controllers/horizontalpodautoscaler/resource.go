package horizontalpodautoscaler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	helpers "k8s.io/component-helpers/resource"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/berthproject/berth/engine/autoscaling"
)

// resource computes a metric of metrics.k8s.io: of a container, or of whole pods if container is empty.
func (m *measurement) resource(ctx context.Context, name corev1.ResourceName, container string, target *autoscalingv2.MetricTarget) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
	metric, quantity := autoscaling.Metric{Name: string(name) + " resource"}, "usage"
	if target.AverageUtilization != nil {
		metric.Name, quantity = string(name)+" resource utilization (percentage of request)", "utilization"
		if container != "" {
			metric.Name = string(name) + " container resource utilization (percentage of request)"
		}
	}
	p, err := m.resourceProposal(ctx, name, container, target)
	if err != nil {
		return metric, autoscalingv2.MetricStatus{}, fmt.Errorf("failed to get %s %s: %w", name, quantity, err)
	}
	metric.Replicas = p.Replicas
	current := valueStatus(p, target)
	if container != "" {
		return metric, autoscalingv2.MetricStatus{
			Type:              autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricStatus{Name: name, Container: container, Current: current},
		}, nil
	}
	return metric, autoscalingv2.MetricStatus{
		Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{Name: name, Current: current},
	}, nil
}

func (m *measurement) resourceProposal(ctx context.Context, name corev1.ResourceName, container string, target *autoscalingv2.MetricTarget) (autoscaling.Proposal, error) {
	usage, err := m.usage(ctx, name, container)
	if err != nil {
		return autoscaling.Proposal{}, fmt.Errorf("unable to get metrics for resource %s: %w", name, err)
	}
	var goal autoscaling.Target
	switch {
	case target.AverageUtilization != nil:
		goal.Utilization = *target.AverageUtilization
	case target.AverageValue != nil:
		goal.Average = target.AverageValue.MilliValue()
	default:
		return autoscaling.Proposal{}, errors.New("invalid metric source: neither a utilization target nor a value target was set")
	}
	if len(m.pods) == 0 {
		return autoscaling.Proposal{}, errors.New("no pods returned by selector while calculating replica count")
	}
	var samples []autoscaling.Sample
	for _, pod := range m.pods {
		measured, found := usage[pod.Name]
		s := autoscaling.Sample{Usage: measured.value, State: autoscaling.Classify(m.now, podOf(pod, measured, found), name == corev1.ResourceCPU)}
		if goal.Utilization > 0 {
			if s.Request, err = requestOf(pod, name, container); err != nil {
				return autoscaling.Proposal{}, fmt.Errorf("failed to get %s request: %w", name, err)
			}
		}
		samples = append(samples, s)
	}
	return autoscaling.Propose(goal, toleranceOf(m.h), m.target.Spec.Replicas, samples)
}

// sample is the usage of a pod, in thousandths.
type sample struct {
	*metricsv1beta1.PodMetrics
	value int64
}

// usage returns the usage of the target's pods, by name.
func (m *measurement) usage(ctx context.Context, name corev1.ResourceName, container string) (map[string]sample, error) {
	list, err := m.Resource.PodMetricses(m.h.Namespace).List(ctx, metav1.ListOptions{LabelSelector: m.selector.String()})
	if err != nil {
		return nil, fmt.Errorf("unable to fetch metrics from resource metrics API: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, errors.New("no metrics returned from resource metrics API")
	}
	out := map[string]sample{}
	for i := range list.Items {
		p := &list.Items[i]
		containers := p.Containers
		if container != "" {
			j := slices.IndexFunc(containers, func(c metricsv1beta1.ContainerMetrics) bool { return c.Name == container })
			if j < 0 {
				return nil, fmt.Errorf("container %s not present in metrics for pod %s/%s", container, p.Namespace, p.Name)
			}
			containers = containers[j : j+1]
		}
		if value, ok := sum(containers, name); ok {
			out[p.Name] = sample{p, value}
		}
	}
	return out, nil
}

// sum adds the usage of containers. It reports false if one has none.
func sum(containers []metricsv1beta1.ContainerMetrics, name corev1.ResourceName) (int64, bool) {
	var total int64
	for _, c := range containers {
		value, ok := c.Usage[name]
		if !ok {
			return 0, false
		}
		total += value.MilliValue()
	}
	return total, len(containers) > 0
}

// podOf converts a pod for engine/autoscaling. s is empty if the metric does not come from metrics.k8s.io.
func podOf(pod *corev1.Pod, s sample, measured bool) autoscaling.Pod {
	out := autoscaling.Pod{
		Deleting: pod.DeletionTimestamp != nil, Failed: pod.Status.Phase == corev1.PodFailed, Pending: pod.Status.Phase == corev1.PodPending, Measured: measured,
	}
	if pod.Status.StartTime != nil {
		out.Started = pod.Status.StartTime.Time
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.HasReady, out.Ready, out.ReadySince = true, c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
			if c.Status == corev1.ConditionUnknown {
				out.HasReady = false
			}
		}
	}
	if s.PodMetrics != nil {
		out.MeasuredAt, out.Window = s.Timestamp.Time, s.Window.Duration
	}
	return out
}

// requestOf returns the request of a container, or of a whole pod if container is empty, in thousandths.
func requestOf(pod *corev1.Pod, name corev1.ResourceName, container string) (int64, error) {
	if container == "" && helpers.IsPodLevelRequestsSet(pod) {
		if request, ok := pod.Spec.Resources.Requests[name]; ok {
			return request.MilliValue(), nil
		}
	}
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	var total int64
	for i := range containers {
		if container != "" && container != containers[i].Name {
			continue
		}
		request, ok := containers[i].Resources.Requests[name]
		if !ok {
			return 0, fmt.Errorf("missing request for %s in container %s of Pod %s", name, containers[i].Name, pod.Name)
		}
		total += request.MilliValue()
	}
	return total, nil
}
