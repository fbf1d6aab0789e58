package tables

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAutoscalerRow(t *testing.T) {
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	h.Name = "h"
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "d"}
	h.Spec.MaxReplicas, h.Status.CurrentReplicas = 5, 2
	check := func(targets, minPods string) {
		t.Helper()
		want := "h|Deployment/d|" + targets + "|" + minPods + "|5|2|<unknown>"
		if got := row(t, autoscalingv2.Resource("horizontalpodautoscalers"), h); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	check("<none>", "<unset>")
	cpu := &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{AverageUtilization: ptr[int32](80)}}
	value := ptr(resource.MustParse("10"))
	h.Spec.MinReplicas = ptr[int32](1)
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: cpu}}
	check("cpu: <unknown>/80%", "1")
	h.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Resource: &autoscalingv2.ResourceMetricStatus{Current: autoscalingv2.MetricValueStatus{AverageUtilization: ptr[int32](7)}}}}
	h.Spec.Metrics = append(h.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{Target: autoscalingv2.MetricTarget{AverageValue: value}}})
	check("cpu: 7%/80%, <unknown>/10 (avg)", "1")
	h.Spec.Metrics = append(h.Spec.Metrics, autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{Target: autoscalingv2.MetricTarget{AverageValue: value}}})
	check("cpu: 7%/80%, <unknown>/10 (avg) + 1 more...", "1")
	h.Spec.Metrics = h.Spec.Metrics[2:]
	check("<unknown>/10", "1")
	memory := &autoscalingv2.ContainerResourceMetricSource{Name: corev1.ResourceMemory, Target: autoscalingv2.MetricTarget{AverageValue: value}}
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: memory}}
	check("memory: <unknown>/10", "1")
}
