package horizontalpodautoscaler

import (
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	custommetrics "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetrics "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	fakecustom "k8s.io/metrics/pkg/client/custom_metrics/fake"
	fakeexternal "k8s.io/metrics/pkg/client/external_metrics/fake"
)

// newCustomMetricsClient returns a client of custom.metrics.k8s.io with a value for each object.
func newCustomMetricsClient(kind string, values map[string]string) *fakecustom.FakeCustomMetricsClient {
	client := &fakecustom.FakeCustomMetricsClient{}
	client.AddReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := &custommetrics.MetricValueList{}
		for name, value := range values {
			list.Items = append(list.Items, custommetrics.MetricValue{DescribedObject: corev1.ObjectReference{Kind: kind, Name: name}, Value: resource.MustParse(value)})
		}
		return true, list, nil
	})
	return client
}

// checkMetric runs an autoscaler with one metric until its first decision, and checks the replicas of its target and the
// metric in its status.
func checkMetric(t *testing.T, s *env, spec autoscalingv2.MetricSpec, replicas int32, check func(autoscalingv2.MetricStatus) bool) {
	s.run(t, func(s *env) {
		s.createAutoscaler(func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.Metrics = []autoscalingv2.MetricSpec{spec} })
		s.Settle(time.Second)
		h := s.check(replicas, succeededRescale, scalingActive, withinRange)
		if m := h.Status.CurrentMetrics; len(m) != 1 || !check(m[0]) {
			s.Errorf("metrics in the status %+v, want the metric with its current value", m)
		}
	})
}

func TestPodsMetric(t *testing.T) {
	value := resource.MustParse("1")
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "requests"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}}}
	complete := &env{custom: newCustomMetricsClient("Pod", map[string]string{"p0": "1", "p1": "3"})}
	checkMetric(t, complete, spec, 4, func(m autoscalingv2.MetricStatus) bool { return m.Pods.Current.AverageValue.String() == "2" })
	partial := &env{custom: newCustomMetricsClient("Pod", map[string]string{"p1": "3"})} // a pod without a value counts as 0 when pods are added
	checkMetric(t, partial, spec, 3, func(m autoscalingv2.MetricStatus) bool { return m.Pods.Current.AverageValue.String() == "3" })
}

func TestObjectMetric(t *testing.T) {
	value := resource.MustParse("2")
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType, Object: &autoscalingv2.ObjectMetricSource{
		DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service", Name: "s"},
		Metric:          autoscalingv2.MetricIdentifier{Name: "requests"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}}}
	s := &env{custom: newCustomMetricsClient("Service", map[string]string{"s": "8"})}
	checkMetric(t, s, spec, 4, func(m autoscalingv2.MetricStatus) bool {
		return m.Object.DescribedObject.Name == "s" && m.Object.Current.AverageValue.String() == "4"
	})
}

func TestExternalMetric(t *testing.T) {
	value := resource.MustParse("2")
	spec := autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "messages"}, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}}}
	client := &fakeexternal.FakeExternalMetricsClient{}
	client.AddReactor("list", "messages", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &externalmetrics.ExternalMetricValueList{Items: []externalmetrics.ExternalMetricValue{{Value: resource.MustParse("5")}, {Value: resource.MustParse("3")}}}, nil
	})
	checkMetric(t, &env{external: client}, spec, 4, func(m autoscalingv2.MetricStatus) bool { return m.External.Current.AverageValue.String() == "4" })
}
