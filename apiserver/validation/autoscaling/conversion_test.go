package autoscaling

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/yaml"
)

func decode(t *testing.T, text string) *autoscalingv2.HorizontalPodAutoscaler {
	t.Helper()
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := yaml.UnmarshalStrict([]byte(text), h); err != nil {
		t.Fatal(err)
	}
	return h
}

const allMetrics = `
metadata: {name: a, annotations: {team: a}}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}
  minReplicas: 2
  maxReplicas: 9
  metrics:
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 10Mi}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: c, target: {type: Utilization, averageUtilization: 7}}}
  - {type: Pods, pods: {metric: {name: p, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: "3"}}}
  - {type: Object, object: {describedObject: {kind: Service, name: s, apiVersion: v1}, metric: {name: o}, target: {type: Value, value: "4"}}}
  - {type: External, external: {metric: {name: e}, target: {type: AverageValue, averageValue: "5"}}}
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}
  behavior:
    scaleUp: {stabilizationWindowSeconds: 5, selectPolicy: Min, tolerance: "0.05", policies: [{type: Pods, value: 1, periodSeconds: 30}]}
    scaleDown: {selectPolicy: Disabled, policies: [{type: Percent, value: 10, periodSeconds: 60}]}
status:
  currentReplicas: 3
  desiredReplicas: 4
  observedGeneration: 2
  lastScaleTime: "2026-01-02T03:04:05Z"
  conditions:
  - {type: AbleToScale, status: "True", reason: ReadyForNewScale, message: m, lastTransitionTime: "2026-01-02T03:04:05Z"}
  currentMetrics:
  - {type: Resource, resource: {name: cpu, current: {averageUtilization: 12, averageValue: 100m}}}
  - {type: External, external: {metric: {name: e}, current: {value: "0", averageValue: "5"}}}
`

// TestConversionRoundTrip checks that converting an autoscaler to version v1 and back is lossless.
func TestConversionRoundTrip(t *testing.T) {
	from := decode(t, allMetrics)
	var v1 autoscalingv1.HorizontalPodAutoscaler
	if err := ToV1(from, &v1); err != nil {
		t.Fatal(err)
	}
	if *v1.Spec.TargetCPUUtilizationPercentage != 60 || *v1.Status.CurrentCPUUtilizationPercentage != 12 || v1.Annotations["team"] != "a" {
		t.Errorf("got version v1 %+v, want the CPU utilizations and the annotation", v1)
	}
	if got := v1.Annotations[behaviorAnnotation]; !strings.Contains(got, `"ScaleUp":{"StabilizationWindowSeconds":5`) {
		t.Errorf("got behavior annotation %s, want the capitalized keys of kube-apiserver", got)
	}
	var result autoscalingv2.HorizontalPodAutoscaler
	FromV1(&v1, &result)
	if !equality.Semantic.DeepEqual(from, &result) {
		t.Errorf("got\n%+v\nwant\n%+v", &result, from)
	}
	if len(from.Annotations) != 1 || len(result.Annotations) != 1 {
		t.Errorf("got annotations %v before the conversion and %v after, want one each", from.Annotations, result.Annotations)
	}
}

func TestConversionFromV1(t *testing.T) {
	utilization := func(h *autoscalingv2.HorizontalPodAutoscaler) int32 {
		return *h.Spec.Metrics[0].Resource.Target.AverageUtilization
	}
	var h autoscalingv2.HorizontalPodAutoscaler
	FromV1(&autoscalingv1.HorizontalPodAutoscaler{}, &h)
	if len(h.Spec.Metrics) != 1 || utilization(&h) != 80 || *h.Spec.MinReplicas != 1 {
		t.Errorf("without metrics: got spec %+v, want a target of 80 %%", h.Spec)
	}
	v1 := &autoscalingv1.HorizontalPodAutoscaler{}
	v1.Annotations = map[string]string{metricsAnnotation: "{", behaviorAnnotation: `{"scaleDown":{"selectPolicy":"Disabled"}}`, conditionsAnnotation: "[]"}
	FromV1(v1, &h)
	if len(h.Spec.Metrics) != 1 || utilization(&h) != 80 || h.Annotations != nil {
		t.Errorf("an annotation that cannot be parsed: got %+v, want the default metric", h)
	}
	slow := &autoscalingv1.HorizontalPodAutoscaler{}
	slow.Annotations = map[string]string{metricsAnnotation: `[{"type":"Resource","resource":{"name":"memory","TargetAverageValue":"12345678901234567890e100000"}}]`}
	var fromSlow autoscalingv2.HorizontalPodAutoscaler
	FromV1(slow, &fromSlow)
	if len(fromSlow.Spec.Metrics) != 1 || utilization(&fromSlow) != 80 {
		t.Errorf("an annotation with a quantity that takes long to parse: got %d metrics, want only the default metric", len(fromSlow.Spec.Metrics))
	}
	if b := h.Spec.Behavior; b == nil || *b.ScaleDown.SelectPolicy != autoscalingv2.DisabledPolicySelect || len(b.ScaleUp.Policies) != 2 {
		t.Errorf("got behavior %+v, want that of the annotation with defaults", b)
	}
	v1.Annotations = map[string]string{metricsAnnotation: `[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Mi"}}]`}
	FromV1(v1, &h)
	if len(h.Spec.Metrics) != 1 || h.Spec.Metrics[0].Resource.Name != "memory" {
		t.Errorf("got metrics %+v, want memory", h.Spec.Metrics)
	}
}
