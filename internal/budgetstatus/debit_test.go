package budgetstatus_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
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

// victims returns pods of namespace ns, created before the entry of newBudget.
func victims(names ...string) (out []*model.Pod) {
	for _, name := range names {
		out = append(out, &model.Pod{Namespace: "ns", Name: name, Created: start.Add(-time.Hour)})
	}
	return out
}

func TestPlan(t *testing.T) {
	recreated := victims("d")
	recreated[0].Created = start.Add(time.Second)
	for name, tc := range map[string]struct {
		allowed            int32
		generation         int64
		decision           decision.Debit
		victims            []*model.Pod
		granted, overruled []string
		required           int
	}{
		"allowed":                       {2, 2, decision.Debit{Granted: []string{"a", "c"}}, victims("a", "c"), []string{"a", "c"}, nil, 2},
		"more than allowed":             {1, 2, decision.Debit{Granted: []string{"a", "c"}}, victims("a", "c"), []string{"a"}, []string{"c"}, 2},
		"overruled pods, one allowed":   {1, 2, decision.Debit{Overruled: []string{"a", "c"}}, victims("a", "c"), []string{"a"}, []string{"c"}, 0},
		"negative allowed disruptions":  {-1, 2, decision.Debit{Overruled: []string{"a"}}, victims("a"), nil, []string{"a"}, 0},
		"status of an older generation": {2, 3, decision.Debit{Granted: []string{"a"}}, victims("a"), nil, []string{"a"}, 1},
		"pod with an entry":             {2, 2, decision.Debit{Granted: []string{"d", "a"}}, victims("a", "d"), []string{"a"}, nil, 1},
		"entry of an earlier pod":       {2, 2, decision.Debit{Granted: []string{"d"}}, recreated, []string{"d"}, nil, 1},
		"every pod was debited earlier": {2, 2, decision.Debit{Granted: []string{"d"}}, victims("d"), nil, nil, 0},
		"granted before overruled pods": {1, 2, decision.Debit{Granted: []string{"a"}, Overruled: []string{"c"}}, victims("a", "c"), []string{"a"}, []string{"c"}, 1},
		"overruled pod with an entry":   {1, 2, decision.Debit{Overruled: []string{"d"}}, victims("d"), nil, nil, 0},
	} {
		b := newBudget(tc.allowed)
		b.Generation = tc.generation
		got, required := budgetstatus.Plan(b, tc.decision, tc.victims)
		if !slices.Equal(got.Granted, tc.granted) || !slices.Equal(got.Overruled, tc.overruled) || required != tc.required || got.IsEmpty() != (len(tc.granted)+len(tc.overruled) == 0) {
			t.Errorf("%s: got debit %+v, required %d; want granted %v, overruled %v, required %d", name, got, required, tc.granted, tc.overruled, tc.required)
		}
	}
}

// TestApplyAndRefund checks that a refund restores the status, except for entries that the disruption controller
// removed.
func TestApplyAndRefund(t *testing.T) {
	b := newBudget(2)
	before := b.DeepCopy()
	old := b.Status.DisruptedPods
	debit := budgetstatus.Debit{Granted: []string{"a", "c"}, Overruled: []string{"e"}}
	entries := debit.Apply(b, start.Add(time.Minute))
	want := map[string]displacement.Entry{"a": {Budget: "b", Before: 2}, "c": {Budget: "b", Before: 2}, "e": {Budget: "b", Before: 2, Overruled: true}}
	if !maps.Equal(entries, want) {
		t.Errorf("got entries %v, want %v", entries, want)
	}
	if len(old) != 1 {
		t.Errorf("got the old map %v after the debit, want it unchanged", old)
	}
	if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 4 || meta.IsStatusConditionTrue(b.Status.Conditions, policyv1.DisruptionAllowedCondition) {
		t.Errorf("got status %+v after the debit, want 0 allowed disruptions, 4 entries and a false condition", b.Status)
	}
	delete(b.Status.DisruptedPods, "c") // as the disruption controller does
	if !debit.Refund(b, start.Add(2*time.Minute)) || b.Status.DisruptionsAllowed != 1 || len(b.Status.DisruptedPods) != len(before.Status.DisruptedPods) ||
		!meta.IsStatusConditionTrue(b.Status.Conditions, policyv1.DisruptionAllowedCondition) {
		t.Errorf("got status %+v after the refund, want 1 allowed disruption, the first entry and a true condition", b.Status)
	}
	if debit.Refund(b, start.Add(3*time.Minute)) {
		t.Error("a second refund changed the status")
	}
}

// TestSyncFailedConditionStays checks that neither a debit without granted pods nor a refund replaces the error of the
// disruption controller.
func TestSyncFailedConditionStays(t *testing.T) {
	b := newBudget(0)
	b.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: "no scale"}}
	want := b.Status.Conditions[0]
	overruled := budgetstatus.Debit{Overruled: []string{"a"}}
	overruled.Apply(b, start)
	overruled.Refund(b, start)
	b.Status.DisruptedPods["c"] = metav1.NewTime(start)
	if !(budgetstatus.Debit{Granted: []string{"c"}}).Refund(b, start) {
		t.Error("the refund did not remove the entry")
	}
	if got := b.Status.Conditions; len(got) != 1 || got[0] != want || b.Status.DisruptionsAllowed != 0 {
		t.Errorf("got conditions %+v and %d allowed disruptions, want %+v and 0", got, b.Status.DisruptionsAllowed, want)
	}
}
