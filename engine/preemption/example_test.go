package preemption_test

import (
	"fmt"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

func examplePod(name, node string, priority int32, cpu int64) *model.Pod {
	r := model.Resources{MilliCPU: cpu}
	return &model.Pod{Namespace: "default", Name: name, UID: name, NodeName: node, Phase: model.Running,
		Spec: &model.PodSpec{SchedulerName: "default-scheduler", Priority: priority, Requests: r, Scoring: r}}
}

// exampleState returns two full nodes.
func exampleState() *cluster.State {
	s := cluster.New()
	for _, n := range []string{"n1", "n2"} {
		s.UpsertNode(&model.Node{Name: n, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}})
	}
	s.UpsertPod(examplePod("batch", "n1", 0, 3000))
	s.UpsertPod(examplePod("api", "n2", 500, 3000))
	return s
}

// Preemption selects the node with the least important victims.
func ExampleEvaluate() {
	s := exampleState()
	p, _ := framework.NewProfile(framework.DefaultConfig())
	pod := examplePod("urgent", "", 1000, 2000)

	record := placement.Evaluate(s, p, 1, pod)
	result := preemption.Evaluate(s, p, 1, preemption.Defaults(), pod, record)
	for _, c := range result.Candidates {
		fmt.Println("candidate", c.Node, "victim", c.Victims[0].Name)
	}
	fmt.Println("selected", result.Preemption.Node)
	// Output:
	// candidate n1 victim batch
	// candidate n2 victim api
	// selected n1
}

// The planner returns the same result and is fast for many similar pods.
func ExamplePlanner_Plan() {
	s := exampleState()
	p, _ := framework.NewProfile(framework.DefaultConfig())
	planner := preemption.NewPlanner(s, p, 1, preemption.Defaults())
	engine := fastpath.NewEngine(s, p, 1)

	for _, name := range []string{"urgent1", "urgent2"} {
		pod := examplePod(name, "", 1000, 2000)
		var summary decision.Summary
		engine.Decide(pod, &summary)
		plan := planner.Plan(pod, &summary)
		fmt.Println(name, plan.Node, plan.Victims[0].Name)
	}
	// Output:
	// urgent1 n1 batch
	// urgent2 n1 batch
}
