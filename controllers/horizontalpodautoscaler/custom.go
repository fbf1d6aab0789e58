package horizontalpodautoscaler

import (
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/berthproject/berth/engine/autoscaling"
)

// podsMetric computes a metric of custom.metrics.k8s.io that each pod has.
func (m *measurement) podsMetric(s *autoscalingv2.PodsMetricSource) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
	metric := autoscaling.Metric{Name: "pods metric " + s.Metric.Name}
	fail := func(err error) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
		return metric, autoscalingv2.MetricStatus{}, fmt.Errorf("unable to get metric %s: %w", s.Metric.Name, err)
	}
	selector, err := selectorOf(&s.Metric)
	if err != nil {
		return fail(err)
	}
	list, err := m.Custom.NamespacedMetrics(m.h.Namespace).GetForObjects(schema.GroupKind{Kind: "Pod"}, m.selector, s.Metric.Name, selector)
	if err != nil {
		return fail(fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err))
	}
	values := map[string]int64{}
	for i := range list.Items {
		values[list.Items[i].DescribedObject.Name] = list.Items[i].Value.MilliValue()
	}
	var samples []autoscaling.Sample
	for _, pod := range m.pods {
		value, found := values[pod.Name]
		samples = append(samples, autoscaling.Sample{Usage: value, State: autoscaling.Classify(m.now, podOf(pod, sample{}, found), false)})
	}
	p, err := autoscaling.Propose(autoscaling.Target{Average: s.Target.AverageValue.MilliValue()}, toleranceOf(m.h), m.target.Spec.Replicas, samples)
	if err != nil {
		return fail(err)
	}
	metric.Replicas = p.Replicas
	return metric, autoscalingv2.MetricStatus{
		Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricStatus{Metric: s.Metric, Current: valueStatus(p, &s.Target)},
	}, nil
}

// objectMetric computes a metric of custom.metrics.k8s.io that one object has.
func (m *measurement) objectMetric(s *autoscalingv2.ObjectMetricSource) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
	ref := s.DescribedObject
	metric := autoscaling.Metric{Name: ref.Kind + " metric " + s.Metric.Name}
	fail := func(err error) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
		return metric, autoscalingv2.MetricStatus{}, fmt.Errorf("unable to get metric %s: %s on %s %w", s.Metric.Name, ref.Kind, m.h.Namespace+"/"+ref.Name, err)
	}
	selector, err := selectorOf(&s.Metric)
	if err != nil {
		return fail(err)
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return fail(err)
	}
	kind := schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	metrics := m.Custom.NamespacedMetrics(m.h.Namespace)
	if kind.Group == "" && kind.Kind == "Namespace" { // metrics of a namespace are requested like those of cluster-wide objects
		metrics = m.Custom.RootScopedMetrics()
	}
	value, err := metrics.GetForObject(kind, ref.Name, s.Metric.Name, selector)
	if err != nil {
		return fail(fmt.Errorf("unable to fetch metrics from custom metrics API: %w", err))
	}
	replicas, current, err := m.total(value.Value.MilliValue(), &s.Target)
	if err != nil {
		return fail(err)
	}
	metric.Replicas = replicas
	return metric, autoscalingv2.MetricStatus{
		Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricStatus{DescribedObject: ref, Metric: s.Metric, Current: current},
	}, nil
}

// externalMetric computes the sum of the series of external.metrics.k8s.io.
func (m *measurement) externalMetric(s *autoscalingv2.ExternalMetricSource) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
	metric := autoscaling.Metric{Name: fmt.Sprintf("external metric %s(%+v)", s.Metric.Name, s.Metric.Selector)}
	fail := func(err error) (autoscaling.Metric, autoscalingv2.MetricStatus, error) {
		return metric, autoscalingv2.MetricStatus{}, fmt.Errorf("unable to get external metric %s/%s/%+v: %w", m.h.Namespace, s.Metric.Name, s.Metric.Selector, err)
	}
	selector, err := selectorOf(&s.Metric)
	if err != nil {
		return fail(err)
	}
	list, err := m.External.NamespacedMetrics(m.h.Namespace).List(s.Metric.Name, selector)
	if err != nil {
		return fail(fmt.Errorf("unable to fetch metrics from external metrics API: %w", err))
	}
	if len(list.Items) == 0 {
		return fail(errors.New("no metrics returned from external metrics API"))
	}
	var sum int64
	for i := range list.Items {
		sum += list.Items[i].Value.MilliValue()
	}
	replicas, current, err := m.total(sum, &s.Target)
	if err != nil {
		return fail(err)
	}
	metric.Replicas = replicas
	return metric, autoscalingv2.MetricStatus{
		Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricStatus{Metric: s.Metric, Current: current},
	}, nil
}

// total returns the replicas for a value that is not measured per pod, and its form in the status. usage is in
// thousandths.
func (m *measurement) total(usage int64, target *autoscalingv2.MetricTarget) (int32, autoscalingv2.MetricValueStatus, error) {
	t := autoscaling.Total{Usage: usage}
	current := autoscalingv2.MetricValueStatus{Value: resource.NewMilliQuantity(usage, resource.DecimalSI)}
	switch {
	case target.Value != nil:
		t.Value = target.Value.MilliValue()
	case target.AverageValue != nil:
		t.Average = target.AverageValue.MilliValue()
	default:
		return 0, current, errors.New("invalid metric source: neither a value target nor an average value target was set")
	}
	ready := int32(0)
	for _, pod := range m.pods {
		if p := podOf(pod, sample{}, false); pod.Status.Phase == corev1.PodRunning && p.HasReady && p.Ready {
			ready++
		}
	}
	p := autoscaling.ProposeTotal(t, toleranceOf(m.h), m.target.Spec.Replicas, m.target.Status.Replicas, ready)
	if target.Value == nil {
		current = autoscalingv2.MetricValueStatus{AverageValue: resource.NewMilliQuantity(p.Average, resource.DecimalSI)}
	}
	return p.Replicas, current, nil
}

func selectorOf(m *autoscalingv2.MetricIdentifier) (labels.Selector, error) {
	if m.Selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(m.Selector)
}
