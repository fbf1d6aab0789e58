package budgetstatus

import (
	"maps"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
)

// Debit adds a debit to a budget's status. It replaces disruptedPods and the conditions, and does not change their old
// values.
func Debit(b *policyv1.PodDisruptionBudget, d displacement.Debit, now time.Time) {
	s := &b.Status
	s.DisruptedPods = maps.Clone(s.DisruptedPods)
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptionsAllowed -= int32(len(d.Granted))
	for _, name := range slices.Concat(d.Granted, d.Overruled) {
		s.DisruptedPods[name] = metav1.NewTime(now)
	}
	if len(d.Granted) > 0 && s.DisruptionsAllowed == 0 {
		setCondition(s, now)
	}
}

// Refund removes a debit from a budget's status and reports whether the status changed. It does not refund an entry
// that the disruption controller has removed, because the controller has recomputed the status. While the controller
// cannot compute the status, Refund only removes entries.
func Refund(b *policyv1.PodDisruptionBudget, d displacement.Debit, now time.Time) bool {
	s := &b.Status
	entries := maps.Clone(s.DisruptedPods)
	refunded := int32(0)
	for i, names := range [][]string{d.Granted, d.Overruled} {
		for _, name := range names {
			if _, found := entries[name]; found && i == 0 {
				refunded++
			}
			delete(entries, name)
		}
	}
	if len(entries) == len(s.DisruptedPods) {
		return false
	}
	s.DisruptedPods = entries
	if refunded > 0 && !syncFailed(s) {
		s.DisruptionsAllowed += refunded
		setCondition(s, now)
	}
	return true
}

// syncFailed reports whether the disruption controller failed to compute the status. It then allows no disruption.
func syncFailed(s *policyv1.PodDisruptionBudgetStatus) bool {
	c := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
	return c != nil && c.Reason == policyv1.SyncFailedReason
}

// setCondition sets the DisruptionAllowed condition from disruptionsAllowed, as the eviction API does. It clears the
// message.
func setCondition(s *policyv1.PodDisruptionBudgetStatus, now time.Time) {
	c := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: s.ObservedGeneration, LastTransitionTime: metav1.NewTime(now)}
	if s.DisruptionsAllowed > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	s.Conditions = slices.Clone(s.Conditions)
	meta.SetStatusCondition(&s.Conditions, c)
}
