package displacement

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func TestRecordMessage(t *testing.T) {
	spec := func(priority int32) *model.PodSpec {
		return &model.PodSpec{SchedulerName: "default-scheduler", Priority: priority}
	}
	r := Record{Cause: Preemption, Preemptor: &model.Pod{Namespace: "ns", Name: "high", UID: "u1", Spec: spec(1000)},
		Victim: &model.Pod{Namespace: "ns", Name: "low", Spec: spec(-5)}, Node: "n1",
		Entries: []Entry{{Budget: "a", Before: 2, After: 1}, {Budget: "b", Overruled: true}}}
	want := "default-scheduler: preempting to accommodate a higher priority pod: ns/high (uid u1, priority 1000 over -5) on node n1" +
		"; budget a allowed 2, now 1; budget b overruled; with the pod's own grace period"
	if got := r.Message(); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if got, want := r.EventNote(), "Preempted by pod u1 on node n1"; got != want {
		t.Errorf("event note %q, want %q", got, want)
	}
}

func TestPreemptionObeysBudgetsOnce(t *testing.T) {
	p := Preemption.Policy()
	if p.Overrules(1) || !p.Overrules(2) {
		t.Errorf("policy %+v, want one attempt that obeys budgets", p)
	}
	if always := (Policy{ObeyingAttempts: -1}); always.Overrules(100) {
		t.Errorf("policy %+v overrules budgets at attempt 100, want it to obey budgets", always)
	}
}

func TestFilterDebits(t *testing.T) {
	debits := []decision.Debit{
		{Budget: &model.Budget{Namespace: "ns", Name: "a"}, Granted: []string{"x", "y"}, Overruled: []string{"z"}},
		{Budget: &model.Budget{Namespace: "ns", Name: "b"}, Granted: []string{"x"}},
		{Budget: &model.Budget{Namespace: "other", Name: "c"}, Granted: []string{"y"}},
	}
	got := FilterDebits(debits, []*model.Pod{{Namespace: "ns", Name: "y"}})
	if len(got) != 1 || got[0].Budget.Name != "a" || len(got[0].Granted) != 1 || got[0].Granted[0] != "y" || len(got[0].Overruled) != 0 {
		t.Errorf("got debits %+v, want a: y", got)
	}
	if len(debits[0].Granted) != 2 {
		t.Errorf("FilterDebits changed its argument: granted %v, want [x y]", debits[0].Granted)
	}
}
