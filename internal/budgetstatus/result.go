package budgetstatus

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/budget"
)

// FromResult converts a computed status to its API form. old is the previous status. The new condition keeps the
// transition time of the old one unless its status changes.
func FromResult(old *policyv1.PodDisruptionBudgetStatus, c *budget.StatusResult, now time.Time) policyv1.PodDisruptionBudgetStatus {
	s := *old.DeepCopy()
	s.ObservedGeneration = c.ObservedGeneration
	s.DisruptionsAllowed, s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods = c.DisruptionsAllowed, c.CurrentHealthy, c.DesiredHealthy, c.ExpectedPods
	s.DisruptedPods = nil
	for i, name := range c.Disrupted {
		if s.DisruptedPods == nil {
			s.DisruptedPods = map[string]metav1.Time{}
		}
		s.DisruptedPods[name] = metav1.NewTime(c.DisruptedAt[i])
	}
	condition := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: c.Reason, Message: c.Message,
		ObservedGeneration: c.ObservedGeneration, LastTransitionTime: metav1.NewTime(now)}
	if c.Reason == budget.SufficientPods {
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, condition)
	return s
}
