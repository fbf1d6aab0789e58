package budget_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
)

// examplePods returns three ready pods.
func examplePods() (pods []*model.Pod) {
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		pods = append(pods, &model.Pod{Namespace: "default", Name: name, UID: name, Ready: true, Phase: model.Running,
			Labels: model.LabelsOf(map[string]string{"app": "web"})})
	}
	return pods
}

// exampleBudget returns a budget with minAvailable 2.
func exampleBudget() *model.Budget {
	web := &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{"web"}}}}
	return &model.Budget{Namespace: "default", Name: "web", Selector: web, MinAvailable: model.IntOrPercent{Set: true, Value: 2}}
}

func ExampleStatusInputs_ComputeStatus() {
	s := budget.StatusInputs{Budget: exampleBudget(), Pods: examplePods(), Now: time.Unix(0, 0)}.ComputeStatus()
	fmt.Println(s.CurrentHealthy, "healthy,", s.DesiredHealthy, "desired,", s.DisruptionsAllowed, "disruptions allowed")
	// Output:
	// 3 healthy, 2 desired, 1 disruptions allowed
}

// A granted eviction is debited, and the next one is refused.
func ExampleEvictions_Check() {
	b, pods, now := exampleBudget(), examplePods(), time.Unix(0, 0)
	b.DisruptionsAllowed, b.CurrentHealthy, b.DesiredHealthy, b.ExpectedPods = 1, 3, 2, 3

	v := budget.Evictions{}.Check(pods[0], []*model.Budget{b}, pods, now)
	fmt.Println(v.Result == budget.Granted, "debits", v.Debits[0].Name)

	b = budget.Debit(b, pods[0], now)
	v = budget.Evictions{}.Check(pods[1], []*model.Budget{b}, pods, now)
	fmt.Println(v.Result == budget.Refused)
	// Output:
	// true debits web
	// true
}

func ExampleDebit() {
	b := exampleBudget()
	b.DisruptionsAllowed = 1
	b = budget.Debit(b, examplePods()[0], time.Unix(0, 0))
	fmt.Println(b.DisruptionsAllowed, b.Disrupted)
	// Output:
	// 0 [web-0]
}
