package preemption_test

import (
	"fmt"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
)

// TestLedgerBudgets checks a status that still allows one disruption although a covered pod is no
// longer ready. The ledger allows none; kube-scheduler preempts (kubernetes#91492).
func TestLedgerBudgets(t *testing.T) {
	c := newTestCluster(t, map[string][]string{"n1": {"a1 1 4000 9"}, "n2": {"b 2 4000 1"}, "n3": {"a2 1000 4000 1"}})
	c.budget("a", 1, 1)
	if got, _ := c.preempt(t, newPreemptor(t, 4000), preemption.Options{LedgerBudgets: true}); got != "n1: a1" {
		t.Errorf("with two ready pods: got %q, want \"n1: a1\"", got)
	}
	notReady := *c.pods["a2"]
	notReady.Ready = false
	c.upsert(&notReady)
	if got, _ := c.preempt(t, newPreemptor(t, 4000), preemption.Options{LedgerBudgets: true}); got != "n2: b" {
		t.Errorf("with LedgerBudgets: got %q, want \"n2: b\"", got)
	}
	got, p := c.preempt(t, newPreemptor(t, 4000), preemption.Options{})
	if got != "n1: a1" || p.Debits != nil {
		t.Errorf("without LedgerBudgets: got %q, debits %v; want \"n1: a1\" without debits", got, p.Debits)
	}
}

func TestDebitsCountVictimsOnly(t *testing.T) {
	c := newTestCluster(t, map[string][]string{"n1": {"a1 3 1000 1", "a2 2 1000 1", "a3 1 2000 1"}})
	c.budget("a", 1, 2)
	_, p := c.preempt(t, newPreemptor(t, 2500), preemption.Options{LedgerBudgets: true})
	if len(p.Debits) != 1 {
		t.Fatalf("debits %v, want one", p.Debits)
	}
	if got := fmt.Sprint(p.Debits[0].Granted, p.Debits[0].Overruled); got != "[a1] [a3]" {
		t.Errorf("granted and overruled: %s, want [a1] [a3]; %s", got, format(p))
	}
}

// TestPreferMovable checks two nodes of equal cost. The victim on n2 fits n3, whose taint only
// victims tolerate. The victim on n1 belongs to a DaemonSet or is too large for n3
// (kubernetes#141227).
func TestPreferMovable(t *testing.T) {
	choices := map[string]bool{}
	for i := range 40 { // the UID breaks ties
		uid := fmt.Sprint("high-", i)
		for _, large := range []bool{false, true} {
			c := newMovableCluster(t, large)
			pod := newPreemptor(t, 1000)
			pod.UID = uid
			if got, _ := c.preempt(t, pod, preemption.Options{PreferMovable: true}); got != "n2: b" {
				t.Errorf("uid %s, too large %t: got %q, want \"n2: b\"", uid, large, got)
			}
			got, _ := c.preempt(t, pod, preemption.Options{})
			choices[got] = true
		}
	}
	if !choices["n1: a"] || !choices["n2: b"] {
		t.Errorf("without the option the choices are %v, want both nodes", choices)
	}
}

// newMovableCluster returns the cluster of TestPreferMovable.
func newMovableCluster(t *testing.T, large bool) *testCluster {
	n1 := []string{"a 1 1000 1", "x 1000 3000 1"}
	if large {
		n1 = []string{"a 1 2000 1", "x 1000 2000 1"}
	}
	c := newTestCluster(t, map[string][]string{"n1": n1, "n2": {"b 1 1000 1", "y 1000 3000 1"}, "n3": {"z 1000 2500 1"}})
	id, _ := c.NodeID("n3")
	node := *c.Node(id).Model
	node.Taints = []model.Taint{{Key: "low", Effect: model.NoSchedule}}
	c.UpsertNode(&node)
	for _, name := range []string{"a", "b"} {
		p, spec := *c.pods[name], *c.pods[name].Spec
		spec.Tolerations = []model.Toleration{{Key: "low", Op: model.TolExists}}
		p.Spec = &spec
		if name == "a" && !large {
			p.Owner = model.Owner{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d"}
		}
		c.upsert(&p)
	}
	return c
}

func TestEligibility(t *testing.T) {
	full := map[string][]string{"n1": {"a 1 4000 1"}, "n2": {"b 2 4000 1"}}
	withPolicyNever := newPreemptor(t, 4000)
	spec := *withPolicyNever.Spec
	spec.NeverPreempts = true
	withPolicyNever.Spec = &spec
	if got, _ := newTestCluster(t, full).preempt(t, withPolicyNever, preemption.Options{}); got != "never" {
		t.Errorf("preemptionPolicy Never: got %q, want \"never\"", got)
	}
	for name, tc := range map[string]struct {
		deleting  bool
		disrupted string
		want      string
	}{
		"the victim is terminating":                           {true, "PreemptionByScheduler", "waits"},
		"the victim terminates for another reason":            {true, "DeletionByTaintManager", "n1: a"},
		"the victim has the condition and is not terminating": {false, "PreemptionByScheduler", "n1: a"},
	} {
		c := newTestCluster(t, full)
		victim := *c.pods["b"]
		victim.Deleting, victim.DisruptionReason = tc.deleting, tc.disrupted
		c.upsert(&victim)
		pod := newPreemptor(t, 4000)
		pod.NominatedNodeName = "n2"
		if got, _ := c.preempt(t, pod, preemption.Options{}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestNominatedPodsReserveResources checks that a nominated pod reserves resources against pods of
// its priority or lower, and that it is not a victim.
func TestNominatedPodsReserveResources(t *testing.T) {
	c := newTestCluster(t, map[string][]string{"n1": {"a 1 2000 1"}, "n2": {"b 2 4000 1"}})
	nominated := parsePod(t, "nominated 1000 4000 -")
	nominated.NominatedNodeName, nominated.Phase = "n1", model.Pending
	c.upsert(nominated)
	if got, _ := c.preempt(t, newPreemptor(t, 2000), preemption.Options{}); got != "n2: b" {
		t.Errorf("got %q, want \"n2: b\"", got)
	}
}

func TestInvalidNominationsAreCleared(t *testing.T) {
	c := newTestCluster(t, map[string][]string{"n1": {"a 1000 4000 1"}})
	pod := newPreemptor(t, 4000)
	pod.NominatedNodeName = "n1"
	got, p := c.preempt(t, pod, preemption.Options{})
	if got != "none" || !p.ClearNomination || p.Outcome != decision.PreemptionNoCandidates {
		t.Errorf("got %q, clear nomination %t; want \"none\", true", got, p.ClearNomination)
	}
}

// TestTiesAmongPreFilterNodes checks that nodes which PreFilter allows are visited in tie-breaker
// order.
func TestTiesAmongPreFilterNodes(t *testing.T) {
	choices := map[string]bool{}
	for i := range 40 {
		c := newTestCluster(t, map[string][]string{"n1": {"a 1 4000 1"}, "n2": {"b 1 4000 1"}, "n3": {"c 0 4000 1"}})
		pod := newPreemptor(t, 4000)
		pod.UID = fmt.Sprint("high-", i)
		spec := *pod.Spec
		spec.NodeSelector.HasRequired = true
		for _, name := range []string{"n1", "n2"} {
			spec.NodeSelector.Required = append(spec.NodeSelector.Required, model.NodeSelectorTerm{
				Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{name}}}})
		}
		pod.Spec = &spec
		got, _ := c.preempt(t, pod, preemption.Options{})
		choices[got] = true
	}
	if len(choices) != 2 || !choices["n1: a"] || !choices["n2: b"] {
		t.Errorf("choices %v, want n1 and n2", choices)
	}
}
