package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// ToV1 converts an autoscaler to version v1.
func ToV1(from *autoscalingv2.HorizontalPodAutoscaler, to *autoscalingv1.HorizontalPodAutoscaler) error {
	annotations, err := annotationsOf(from)
	if err != nil {
		return err
	}
	*to = autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: from.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(from.Spec.ScaleTargetRef),
			MinReplicas:    from.Spec.MinReplicas, MaxReplicas: from.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: from.Status.ObservedGeneration, LastScaleTime: from.Status.LastScaleTime,
			CurrentReplicas: from.Status.CurrentReplicas, DesiredReplicas: from.Status.DesiredReplicas,
		},
	}
	to.Annotations = annotations
	for i := range from.Spec.Metrics {
		if target := targetOfCPU(&from.Spec.Metrics[i]); target != nil {
			to.Spec.TargetCPUUtilizationPercentage = target
			break
		}
	}
	for _, m := range from.Status.CurrentMetrics {
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil {
			to.Status.CurrentCPUUtilizationPercentage = m.Resource.Current.AverageUtilization
		}
	}
	return nil
}

// FromV1 converts an autoscaler of version v1, with the default metric if it has none.
func FromV1(from *autoscalingv1.HorizontalPodAutoscaler, to *autoscalingv2.HorizontalPodAutoscaler) {
	*to = autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: from.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(from.Spec.ScaleTargetRef),
			MinReplicas:    from.Spec.MinReplicas, MaxReplicas: from.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: from.Status.ObservedGeneration, LastScaleTime: from.Status.LastScaleTime,
			CurrentReplicas: from.Status.CurrentReplicas, DesiredReplicas: from.Status.DesiredReplicas,
		},
	}
	if target := from.Spec.TargetCPUUtilizationPercentage; target != nil {
		to.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(*target)}
	}
	if current := from.Status.CurrentCPUUtilizationPercentage; current != nil {
		to.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: current},
		}}}
	}
	readAnnotations(from.Annotations, to)
	to.Annotations = withoutVersionAnnotations(from.Annotations)
	Default(to)
}

// ListToV1 converts a list to version v1.
func ListToV1(from *autoscalingv2.HorizontalPodAutoscalerList, to *autoscalingv1.HorizontalPodAutoscalerList) error {
	to.ListMeta, to.Items = from.ListMeta, make([]autoscalingv1.HorizontalPodAutoscaler, len(from.Items))
	for i := range from.Items {
		if err := ToV1(&from.Items[i], &to.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// ListFromV1 converts a list of version v1.
func ListFromV1(from *autoscalingv1.HorizontalPodAutoscalerList, to *autoscalingv2.HorizontalPodAutoscalerList) {
	to.ListMeta, to.Items = from.ListMeta, make([]autoscalingv2.HorizontalPodAutoscaler, len(from.Items))
	for i := range from.Items {
		FromV1(&from.Items[i], &to.Items[i])
	}
}

// targetOfCPU returns the target that version v1 has a field for, or nil.
func targetOfCPU(m *autoscalingv2.MetricSpec) *int32 {
	if m.Type != autoscalingv2.ResourceMetricSourceType || m.Resource == nil || m.Resource.Name != corev1.ResourceCPU {
		return nil
	}
	return m.Resource.Target.AverageUtilization
}

func conditionToV1(c *autoscalingv2.HorizontalPodAutoscalerCondition) autoscalingv1.HorizontalPodAutoscalerCondition {
	return autoscalingv1.HorizontalPodAutoscalerCondition{
		Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
	}
}

func conditionFromV1(c *autoscalingv1.HorizontalPodAutoscalerCondition) autoscalingv2.HorizontalPodAutoscalerCondition {
	return autoscalingv2.HorizontalPodAutoscalerCondition{
		Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type), Status: c.Status, LastTransitionTime: c.LastTransitionTime,
		Reason: c.Reason, Message: c.Message, ObservedGeneration: c.ObservedGeneration,
	}
}
