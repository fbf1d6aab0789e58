package budgetstatus_test

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/budgetstatus"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// newBudget returns a budget that allows disruptions and has an entry for pod "d".
func newBudget(allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", Generation: 2},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2, DisruptionsAllowed: allowed,
			DisruptedPods: map[string]metav1.Time{"d": metav1.NewTime(start)}},
	}
}

// TestDebitAndRefund checks that a refund restores the status, except for entries that the disruption controller
// removed.
func TestDebitAndRefund(t *testing.T) {
	b := newBudget(2)
	before := b.DeepCopy()
	old := b.Status.DisruptedPods
	debit := displacement.Debit{Granted: []string{"a", "c"}, Overruled: []string{"e"}}
	budgetstatus.Debit(b, debit, start.Add(time.Minute))
	if len(old) != 1 {
		t.Errorf("got the old map %v after the debit, want it unchanged", old)
	}
	if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 4 || meta.IsStatusConditionTrue(b.Status.Conditions, policyv1.DisruptionAllowedCondition) {
		t.Errorf("got status %+v after the debit, want 0 allowed disruptions, 4 entries and a false condition", b.Status)
	}
	delete(b.Status.DisruptedPods, "c") // as the disruption controller does
	if !budgetstatus.Refund(b, debit, start.Add(2*time.Minute)) || b.Status.DisruptionsAllowed != 1 || len(b.Status.DisruptedPods) != len(before.Status.DisruptedPods) ||
		!meta.IsStatusConditionTrue(b.Status.Conditions, policyv1.DisruptionAllowedCondition) {
		t.Errorf("got status %+v after the refund, want 1 allowed disruption, the first entry and a true condition", b.Status)
	}
	if budgetstatus.Refund(b, debit, start.Add(3*time.Minute)) {
		t.Error("a second refund changed the status")
	}
}

// TestSyncFailedConditionStays checks that neither a debit without granted pods nor a refund replaces the error of the
// disruption controller.
func TestSyncFailedConditionStays(t *testing.T) {
	b := newBudget(0)
	b.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: "no scale"}}
	want := b.Status.Conditions[0]
	overruled := displacement.Debit{Overruled: []string{"a"}}
	budgetstatus.Debit(b, overruled, start)
	budgetstatus.Refund(b, overruled, start)
	b.Status.DisruptedPods["c"] = metav1.NewTime(start)
	if !budgetstatus.Refund(b, displacement.Debit{Granted: []string{"c"}}, start) {
		t.Error("the refund did not remove the entry")
	}
	if got := b.Status.Conditions; len(got) != 1 || got[0] != want || b.Status.DisruptionsAllowed != 0 {
		t.Errorf("got conditions %+v and %d allowed disruptions, want %+v and 0", got, b.Status.DisruptionsAllowed, want)
	}
}
