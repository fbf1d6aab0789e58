package scheduling_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/engine/scheduling/profiles"
)

// newMachine returns a machine with kube-scheduler's default profile.
func newMachine() *scheduling.Machine {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		panic(err)
	}
	c := scheduling.DefaultConfig()
	c.Profiles = []profiles.Profile{profiles.New(p, 1, 0)}
	return scheduling.New(c)
}

func pendingPod(name string, priority int32, cpu int64) *model.Pod {
	r := model.Resources{MilliCPU: cpu}
	return &model.Pod{Namespace: "default", Name: name, UID: name,
		Spec: &model.PodSpec{SchedulerName: "default-scheduler", Priority: priority, Requests: r, Scoring: r}}
}

func node(name string, cpu int64) *model.Node {
	return &model.Node{Name: name, UID: name, Ready: true, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: cpu, Memory: 8 << 30}}
}

// The caller executes the effects of a step and passes their outcomes to the next one.
func ExampleMachine_Step() {
	m := newMachine()
	now := time.Unix(0, 0)
	effects, _ := m.Step(now, []scheduling.Event{node("n1", 4000), pendingPod("web", 0, 500)}, 10)
	bind := effects[0].(scheduling.Bind)
	fmt.Println("bind", bind.Pod.Name, "to", bind.Node)

	m.Step(now, []scheduling.Event{scheduling.Outcome{ID: bind.ID, Result: scheduling.Done}}, 10)
	fmt.Println("queued:", m.Depths().Active)
	// Output:
	// bind web to n1
	// queued: 0
}

// A pod that does not fit on any node is reported. An event that may make it schedulable requeues it.
func ExampleMachine_Step_unschedulable() {
	m := newMachine()
	now := time.Unix(0, 0)
	effects, _ := m.Step(now, []scheduling.Event{node("n1", 4000), pendingPod("large", 0, 8000)}, 10)
	report := effects[0].(scheduling.ReportUnschedulable)
	fmt.Println(report.Pod.Name, report.Summary.Outcome)

	effects, _ = m.Step(now.Add(time.Minute), []scheduling.Event{node("n2", 16000)}, 10)
	fmt.Println("bind to", effects[0].(scheduling.Bind).Node)
	// Output:
	// large unschedulable
	// bind to n2
}

// A pod of higher priority preempts another pod.
func ExampleMachine_Step_preemption() {
	m := newMachine()
	now := time.Unix(0, 0)
	low := pendingPod("low", 0, 3000)
	low.NodeName, low.Phase = "n1", model.Running
	effects, _ := m.Step(now, []scheduling.Event{node("n1", 4000), low, pendingPod("high", 1000, 3000)}, 10)
	for _, e := range effects {
		if p, ok := e.(scheduling.Preempt); ok {
			fmt.Println("nominate", p.Pod.Name, "to", p.Plan.Node, "and evict", p.Plan.Victims[0].Name)
		}
	}
	// Output:
	// nominate high to n1 and evict low
}
