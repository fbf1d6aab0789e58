package horizontalpodautoscaler

import (
	"context"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/autoscaling"
	"github.com/berthproject/berth/internal/apierror"
)

// setCondition sets a condition. The transition time changes only with the status.
func (r *reconciliation) setCondition(kind autoscalingv2.HorizontalPodAutoscalerConditionType, isTrue bool, reason, message string) {
	status := corev1.ConditionFalse
	if isTrue {
		status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(r.h.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == kind })
	if i < 0 {
		i = len(r.h.Status.Conditions)
		r.h.Status.Conditions = append(r.h.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind})
	}
	c := &r.h.Status.Conditions[i]
	if c.Status != status {
		c.Status, c.LastTransitionTime = status, metav1.Time{Time: r.now}
	}
	c.Reason, c.Message, c.ObservedGeneration = reason, message, r.h.Status.ObservedGeneration
}

// setFromDecision sets a condition of a decision unless it is nil.
func (r *reconciliation) setFromDecision(kind autoscalingv2.HorizontalPodAutoscalerConditionType, c *autoscaling.Condition) {
	if c != nil {
		r.setCondition(kind, c.True, c.Reason, c.Message)
	}
}

// updateStatus writes the status if it has changed.
func (r *reconciliation) updateStatus(ctx context.Context) error {
	if equality.Semantic.DeepEqual(r.old.Status, r.h.Status) {
		return nil
	}
	_, err := r.client.AutoscalingV2().HorizontalPodAutoscalers(r.h.Namespace).UpdateStatus(ctx, r.h, metav1.UpdateOptions{})
	return apierror.IgnoreNotFound(err)
}

// autoscalerOf converts the specification for engine/autoscaling.
func autoscalerOf(h *autoscalingv2.HorizontalPodAutoscaler) autoscaling.Autoscaler {
	a := autoscaling.Autoscaler{Min: 1, Max: h.Spec.MaxReplicas}
	if n := h.Spec.MinReplicas; n != nil {
		a.Min = *n
	}
	if b := h.Spec.Behavior; b != nil {
		a.Behavior = &autoscaling.Behavior{Up: rulesOf(b.ScaleUp, 0), Down: rulesOf(b.ScaleDown, autoscaling.DownWindow)}
	}
	return a
}

func rulesOf(r *autoscalingv2.HPAScalingRules, window time.Duration) autoscaling.Rules {
	out := autoscaling.Rules{Window: window}
	if r == nil {
		return out // unreachable: the API server sets defaults
	}
	if w := r.StabilizationWindowSeconds; w != nil {
		out.Window = time.Duration(*w) * time.Second
	}
	if s := r.SelectPolicy; s != nil {
		out.Select = map[autoscalingv2.ScalingPolicySelect]autoscaling.Selection{
			autoscalingv2.MinChangePolicySelect: autoscaling.MinChange, autoscalingv2.DisabledPolicySelect: autoscaling.Disabled,
		}[*s]
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, autoscaling.Policy{
			Percent: p.Type == autoscalingv2.PercentScalingPolicy, Value: p.Value, Period: time.Duration(p.PeriodSeconds) * time.Second,
		})
	}
	return out
}

func toleranceOf(h *autoscalingv2.HorizontalPodAutoscaler) autoscaling.Tolerance {
	out := autoscaling.Tolerance{Up: autoscaling.DefaultTolerance, Down: autoscaling.DefaultTolerance}
	if b := h.Spec.Behavior; b != nil {
		if b.ScaleUp != nil && b.ScaleUp.Tolerance != nil {
			out.Up = b.ScaleUp.Tolerance.AsApproximateFloat64()
		}
		if b.ScaleDown != nil && b.ScaleDown.Tolerance != nil {
			out.Down = b.ScaleDown.Tolerance.AsApproximateFloat64()
		}
	}
	return out
}
