package controllers

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
)

// budgetStatus converts a count to an API status.
func budgetStatus(b *policyv1.PodDisruptionBudget, c *budget.StatusResult, now time.Time) policyv1.PodDisruptionBudgetStatus {
	s := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: c.ObservedGeneration, DisruptionsAllowed: c.DisruptionsAllowed,
		CurrentHealthy: c.CurrentHealthy, DesiredHealthy: c.DesiredHealthy, ExpectedPods: c.ExpectedPods}
	for i, name := range c.Disrupted {
		if s.DisruptedPods == nil {
			s.DisruptedPods = map[string]metav1.Time{}
		}
		s.DisruptedPods[name] = metav1.NewTime(c.DisruptedAt[i])
	}
	allowed := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(now)}
	if c.Reason == budget.SufficientPods {
		allowed.Status = metav1.ConditionTrue
	}
	for i := range b.Status.Conditions {
		if previous := &b.Status.Conditions[i]; previous.Type == allowed.Type && previous.Status == allowed.Status {
			allowed.LastTransitionTime = previous.LastTransitionTime
		}
	}
	s.Conditions = []metav1.Condition{allowed}
	return s
}

// sameStatus reports whether two statuses are equal.
func sameStatus(a, b *policyv1.PodDisruptionBudgetStatus) bool {
	equal := a.DisruptionsAllowed == b.DisruptionsAllowed && a.CurrentHealthy == b.CurrentHealthy && a.DesiredHealthy == b.DesiredHealthy &&
		a.ExpectedPods == b.ExpectedPods && a.ObservedGeneration == b.ObservedGeneration && len(a.DisruptedPods) == len(b.DisruptedPods)
	for name := range b.DisruptedPods {
		_, exists := a.DisruptedPods[name]
		equal = equal && exists
	}
	return equal && len(a.Conditions) == 1 && a.Conditions[0].Reason == b.Conditions[0].Reason && a.Conditions[0].Message == b.Conditions[0].Message
}
