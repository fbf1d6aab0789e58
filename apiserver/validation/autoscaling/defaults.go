package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
)

const (
	defaultMinReplicas = 1
	// defaultUtilization is the target CPU utilization of an autoscaler without metrics, in percent.
	defaultUtilization = 80
	// policyPeriod is the period of the default policies, in seconds.
	policyPeriod = 15
)

// Default sets the defaults of version v2.
func Default(h *autoscalingv2.HorizontalPodAutoscaler) {
	defaulting.SetPointer(&h.Spec.MinReplicas, defaultMinReplicas)
	if len(h.Spec.Metrics) == 0 {
		h.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(defaultUtilization)}
	}
	if b := h.Spec.Behavior; b != nil {
		defaultRules(&b.ScaleUp,
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: policyPeriod},
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: policyPeriod})
		defaulting.SetPointer(&b.ScaleUp.StabilizationWindowSeconds, 0)
		// The controller sets the default window of scaling down.
		defaultRules(&b.ScaleDown, autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: policyPeriod})
	}
}

// defaultRules sets the rules of one direction.
func defaultRules(rules **autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) {
	if *rules == nil {
		*rules = &autoscalingv2.HPAScalingRules{}
	}
	defaulting.SetPointer(&(*rules).SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if (*rules).Policies == nil {
		(*rules).Policies = policies
	}
}

// DefaultV1 sets the defaults of version v1. The default metric depends on annotations, so conversion sets it.
func DefaultV1(h *autoscalingv1.HorizontalPodAutoscaler) {
	defaulting.SetPointer(&h.Spec.MinReplicas, defaultMinReplicas)
}

func cpuUtilization(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
	}}
}
