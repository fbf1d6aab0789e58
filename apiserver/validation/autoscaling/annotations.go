package autoscaling

import (
	"encoding/json"
	"maps"
	"reflect"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/berthproject/berth/apiserver/quantities"
)

// Annotations of version v1, which hold what its fields cannot.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// annotationsOf returns the annotations of an autoscaler in version v1.
func annotationsOf(h *autoscalingv2.HorizontalPodAutoscaler) (map[string]string, error) {
	out := withoutVersionAnnotations(h.Annotations)
	add := func(name string, present bool, value any) error {
		if !present {
			return nil
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = string(encoded)
		return nil
	}
	var otherMetrics []autoscalingv1.MetricSpec
	for i := range h.Spec.Metrics {
		if targetOfCPU(&h.Spec.Metrics[i]) == nil {
			otherMetrics = append(otherMetrics, specToV1(&h.Spec.Metrics[i]))
		}
	}
	if err := add(metricsAnnotation, len(otherMetrics) > 0, otherMetrics); err != nil {
		return nil, err
	}
	if err := add(currentMetricsAnnotation, len(h.Status.CurrentMetrics) > 0, convertEach(h.Status.CurrentMetrics, statusToV1)); err != nil {
		return nil, err
	}
	if err := add(conditionsAnnotation, len(h.Status.Conditions) > 0, convertEach(h.Status.Conditions, conditionToV1)); err != nil {
		return nil, err
	}
	return out, add(behaviorAnnotation, h.Spec.Behavior != nil, encodedBehaviorOf(h.Spec.Behavior))
}

// readAnnotations sets the fields that the annotations of version v1 contain. Values that cannot be
// parsed are dropped, as in kube-apiserver.
func readAnnotations(annotations map[string]string, to *autoscalingv2.HorizontalPodAutoscaler) {
	if metrics := parse[[]autoscalingv1.MetricSpec](annotations[metricsAnnotation]); len(metrics) > 0 {
		to.Spec.Metrics = append(convertEach(metrics, specFromV1), to.Spec.Metrics...)
	}
	if metrics := parse[[]autoscalingv1.MetricStatus](annotations[currentMetricsAnnotation]); len(metrics) > 0 {
		to.Status.CurrentMetrics = convertEach(metrics, statusFromV1)
	}
	if conditions := parse[[]autoscalingv1.HorizontalPodAutoscalerCondition](annotations[conditionsAnnotation]); len(conditions) > 0 {
		to.Status.Conditions = convertEach(conditions, conditionFromV1)
	}
	if b := parse[autoscalingv2.HorizontalPodAutoscalerBehavior](annotations[behaviorAnnotation]); b.ScaleUp != nil || b.ScaleDown != nil {
		to.Spec.Behavior = &b
	}
}

// parse decodes JSON. It returns the zero value if encoded is empty or invalid, or has a quantity that takes
// long to parse.
func parse[T any](encoded string) T {
	var out, zero T
	if encoded == "" || quantities.CheckJSON([]byte(encoded), reflect.TypeFor[T]()) != nil ||
		json.Unmarshal([]byte(encoded), &out) != nil {
		return zero
	}
	return out
}

// withoutVersionAnnotations returns a copy of annotations without those of version v1, or nil if none remain.
func withoutVersionAnnotations(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	for _, name := range []string{metricsAnnotation, currentMetricsAnnotation, conditionsAnnotation, behaviorAnnotation} {
		delete(out, name)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// convertEach converts the elements of a list. It returns nil for an empty list.
func convertEach[A, B any](in []A, convert func(*A) B) []B {
	var out []B
	for i := range in {
		out = append(out, convert(&in[i]))
	}
	return out
}
