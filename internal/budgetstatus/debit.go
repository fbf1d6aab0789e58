package budgetstatus

import (
	"maps"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
)

// Debit is what a displacement takes from one budget.
type Debit struct {
	// Granted are the pods that take an allowed disruption. Overruled are those that are displaced although the budget
	// allows no disruption for them; they get an entry only. A pod is in at most one of them.
	Granted, Overruled []string
}

// Allowed returns how many pods a budget allows to disrupt. It returns 0 while the status is of an older generation, as
// the eviction API does.
func Allowed(b *policyv1.PodDisruptionBudget) int32 {
	if b.Status.ObservedGeneration < b.Generation {
		return 0
	}
	return max(0, b.Status.DisruptionsAllowed)
}

// Plan returns the debit of a decision from a budget, and the number of disruptions that the budget must allow for it.
// The debit omits pods that have an entry: they were debited earlier. A decision that overrules the budget also takes
// the disruptions that the budget still allows, so that the budget refuses other actors. The victims are the pods of
// the decision.
func Plan(b *policyv1.PodDisruptionBudget, d decision.Debit, victims []*model.Pod) (debit Debit, required int) {
	granted := withoutEntry(b, d.Granted, victims)
	names := slices.Concat(granted, withoutEntry(b, d.Overruled, victims))
	n := min(len(names), int(Allowed(b)))
	return Debit{Granted: names[:n:n], Overruled: names[n:]}, len(granted)
}

// withoutEntry returns the names without an entry in disruptedPods. An entry older than the pod belongs to an earlier
// pod of the same name.
func withoutEntry(b *policyv1.PodDisruptionBudget, names []string, victims []*model.Pod) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		at, found := b.Status.DisruptedPods[name]
		return found && !slices.ContainsFunc(victims, func(v *model.Pod) bool {
			return v.Name == name && v.Namespace == b.Namespace && at.Time.Before(v.Created)
		})
	})
}

// IsEmpty reports whether the debit changes nothing.
func (d Debit) IsEmpty() bool { return len(d.Granted)+len(d.Overruled) == 0 }

// Apply adds the debit to a budget's status and returns, by pod name, the entries for the displacement records. It
// replaces disruptedPods and the conditions, and does not change their old values.
func (d Debit) Apply(b *policyv1.PodDisruptionBudget, now time.Time) map[string]displacement.Entry {
	s := &b.Status
	before := s.DisruptionsAllowed
	s.DisruptedPods = maps.Clone(s.DisruptedPods)
	if s.DisruptedPods == nil {
		s.DisruptedPods = map[string]metav1.Time{}
	}
	s.DisruptionsAllowed -= int32(len(d.Granted))
	entries := map[string]displacement.Entry{}
	for i, names := range [][]string{d.Granted, d.Overruled} {
		for _, name := range names {
			s.DisruptedPods[name] = metav1.NewTime(now)
			entries[name] = displacement.Entry{Budget: b.Name, Before: before, After: s.DisruptionsAllowed, Overruled: i == 1}
		}
	}
	if len(d.Granted) > 0 && s.DisruptionsAllowed == 0 {
		setCondition(s, now)
	}
	return entries
}

// Refund removes the debit from a budget's status and reports whether the status changed. It does not refund an entry
// that the disruption controller has removed, because the controller has recomputed the status. While the controller
// cannot compute the status, Refund only removes entries.
func (d Debit) Refund(b *policyv1.PodDisruptionBudget, now time.Time) bool {
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
