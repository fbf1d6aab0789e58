package remediation_test

import (
	"fmt"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/remediation"
)

// A cordoned node is the cheapest way to make the pod schedulable.
func ExampleFind() {
	s := cluster.New()
	s.UpsertNode(&model.Node{Name: "n1", Unschedulable: true, AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000, Memory: 8 << 30}})
	p, _ := framework.NewProfile(framework.DefaultConfig())
	pod := &model.Pod{Namespace: "default", Name: "web", UID: "web",
		Spec: &model.PodSpec{SchedulerName: "default-scheduler", Requests: model.Resources{MilliCPU: 500}}}

	record := placement.Evaluate(s, p, 1, pod)
	result := remediation.Find(s, p, 1, pod, record, remediation.Options{})
	best := result.Suggestions[0]
	fmt.Println(best.Changes[0].Kind, best.Changes[0].Node)
	// Output:
	// Uncordon n1
}
