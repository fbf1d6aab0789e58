package budget_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

func pod(name string, labels map[string]string) *model.Pod {
	return &model.Pod{Namespace: "default", Name: name, UID: name, Labels: model.LabelsOf(labels), Ready: true, Phase: model.Running, Spec: &model.PodSpec{}}
}

var (
	web          = map[string]string{"app": "web"}
	selectWeb    = &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}}
	selectNotWeb = &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.DoesNotExist}}}
	selectAll    = &model.Selector{}
)

func TestCovers(t *testing.T) {
	for name, c := range map[string]struct {
		selector           *model.Selector
		labels             map[string]string
		namespace          string
		ledger, statusOnly bool
	}{
		"a label that matches": {selectWeb, web, "default", true, true},
		"another label":        {selectWeb, map[string]string{"app": "db"}, "default", false, false},
		"another namespace":    {selectWeb, web, "other", false, false},
		"no selector":          {nil, web, "default", false, false},
		"an empty selector":    {selectAll, web, "default", true, false},
		"an empty selector and a pod without labels": {selectAll, nil, "default", true, false},
		"DoesNotExist and no such label":             {selectNotWeb, nil, "default", true, false},
		"DoesNotExist and other labels":              {selectNotWeb, map[string]string{"tier": "a"}, "default", true, true},
	} {
		b := &model.Budget{Namespace: c.namespace, Selector: c.selector}
		p := pod("p", c.labels)
		if got := budget.Ledger.Covers(b, p); got != c.ledger {
			t.Errorf("%s: Ledger covers the pod: %v, want %v", name, got, c.ledger)
		}
		if got := budget.StatusOnly.Covers(b, p); got != c.statusOnly {
			t.Errorf("%s: StatusOnly covers the pod: %v, want %v", name, got, c.statusOnly)
		}
	}
}

func TestAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		b                  model.Budget
		healthy            int32
		ledger, statusOnly int32
	}{
		"status and count agree":               {model.Budget{DisruptionsAllowed: 2, DesiredHealthy: 3}, 5, 2, 2},
		"stale status: a pod failed":           {model.Budget{DisruptionsAllowed: 2, DesiredHealthy: 3}, 4, 1, 2},
		"stale status: a pod was added":        {model.Budget{DisruptionsAllowed: 2, DesiredHealthy: 3}, 9, 2, 2},
		"fewer than desired":                   {model.Budget{DisruptionsAllowed: 2, DesiredHealthy: 3}, 1, 0, 2},
		"the status is of an older generation": {model.Budget{DisruptionsAllowed: 2, DesiredHealthy: 3, Generation: 2, ObservedGeneration: 1}, 5, 0, 2},
		"no status":                            {model.Budget{}, 5, 0, 0},
	} {
		if got := budget.Ledger.Allowed(&c.b, c.healthy); got != c.ledger {
			t.Errorf("%s: Ledger allows %d, want %d", name, got, c.ledger)
		}
		if got := budget.StatusOnly.Allowed(&c.b, c.healthy); got != c.statusOnly {
			t.Errorf("%s: StatusOnly allows %d, want %d", name, got, c.statusOnly)
		}
	}
}

func TestHealthy(t *testing.T) {
	b := &model.Budget{Namespace: "default", Selector: selectWeb, Disrupted: []string{"granted"}}
	pods := []*model.Pod{pod("a", web), pod("granted", web), pod("deleting", web), pod("starting", web), pod("finished", web), pod("other", nil)}
	pods[2].Deleting, pods[3].Ready, pods[4].Phase = true, false, model.Succeeded
	if got := budget.Ledger.CountHealthy(b, pods); got != 1 {
		t.Errorf("CountHealthy() = %d, want 1", got)
	}
}

func names(pods []*model.Pod) (out []string) {
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

func TestSplit(t *testing.T) {
	b := &model.Budget{Namespace: "default", Name: "b", Selector: selectWeb, DisruptionsAllowed: 1, Disrupted: []string{"granted"}}
	pods := []*model.Pod{pod("first", web), pod("granted", web), pod("deleting", web), pod("second", web), pod("other", nil), pod("third", web)}
	pods[2].Deleting = true
	for rule, want := range map[budget.Rule]string{
		budget.Ledger:     "[second third] [first granted deleting other]",
		budget.StatusOnly: "[deleting second third] [first granted other]",
	} {
		a := budget.NewAllowances(rule, []*model.Budget{b}, []int32{9})
		violating, nonViolating := a.Split(pods)
		if got := fmt.Sprint(names(violating), names(nonViolating)); got != want {
			t.Errorf("rule %d: split %s, want %s", rule, got, want)
		}
	}
}

func TestDebits(t *testing.T) {
	pdb := &model.Budget{Namespace: "default", Name: "web", Selector: selectWeb, DisruptionsAllowed: 1, Disrupted: []string{"granted"}}
	all := &model.Budget{Namespace: "default", Name: "all", Selector: selectAll, DisruptionsAllowed: 2}
	none := &model.Budget{Namespace: "other", Name: "none", Selector: selectAll, DisruptionsAllowed: 2}
	victims := []*model.Pod{pod("first", web), pod("granted", web), pod("second", web)}
	budgets := []*model.Budget{all, pdb, none}
	var got []string
	for _, d := range budget.NewAllowances(budget.Ledger, budgets, []int32{9, 9, 9}).Debits(victims) {
		got = append(got, fmt.Sprint(d.Budget.Name, d.Granted, d.Overruled))
	}
	if want := []string{"all[first granted] [second]", "web[first] [second]"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if d := budget.NewAllowances(budget.StatusOnly, budgets, nil).Debits(victims); d != nil {
		t.Errorf("StatusOnly debits %v, want none", d)
	}
}
