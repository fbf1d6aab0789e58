package autoscaling

import autoscalingv2 "k8s.io/api/autoscaling/v2"

// encodedBehavior is the behavior in the annotation of version v1, whose keys are capitalized.
type encodedBehavior struct{ ScaleUp, ScaleDown *encodedRules }

type encodedRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []encodedPolicy
	Tolerance                  any
}

type encodedPolicy struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func encodedBehaviorOf(b *autoscalingv2.HorizontalPodAutoscalerBehavior) *encodedBehavior {
	if b == nil {
		return nil
	}
	return &encodedBehavior{ScaleUp: encodedRulesOf(b.ScaleUp), ScaleDown: encodedRulesOf(b.ScaleDown)}
}

func encodedRulesOf(r *autoscalingv2.HPAScalingRules) *encodedRules {
	if r == nil {
		return nil
	}
	out := &encodedRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy}
	if r.Tolerance != nil {
		out.Tolerance = r.Tolerance
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, encodedPolicy(p))
	}
	return out
}
