package placement_test

import (
	"fmt"
	"log"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/fastpath"
	"github.com/berthproject/berth/engine/placement/framework"
)

func exampleCluster() (*cluster.State, *framework.Profile) {
	s := cluster.New()
	for _, n := range []struct {
		name string
		cpu  int64
	}{{"large", 8000}, {"medium", 4000}, {"small", 1000}} {
		s.UpsertNode(&model.Node{Name: n.name, AllocatablePods: 110,
			Allocatable: model.Resources{MilliCPU: n.cpu, Memory: 8 << 30}})
	}
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		log.Fatal(err)
	}
	return s, p
}

func examplePod(milliCPU int64) *model.Pod {
	r := model.Resources{MilliCPU: milliCPU, Memory: 1 << 30}
	return &model.Pod{Namespace: "default", Name: "web", UID: "web", Spec: &model.PodSpec{
		SchedulerName: "default-scheduler", Requests: r, Scoring: r, ImageContainers: 1}}
}

// Evaluate returns the verdict or the scores of every node.
func ExampleEvaluate() {
	s, p := exampleCluster()
	rec := placement.Evaluate(s, p, 1, examplePod(2000))
	fmt.Println(rec.Outcome, rec.Choice)
	for _, n := range rec.Nodes {
		fmt.Println(n.Name, n.Verdict.Code)
	}
	// Output:
	// scheduled large
	// large Success
	// medium Success
	// small UnschedulableAndUnresolvable
}

// The fast path returns the same decision without the details of every node.
func Example_fastPath() {
	s, p := exampleCluster()
	engine := fastpath.NewEngine(s, p, 1)
	var out decision.Summary
	engine.Decide(examplePod(2000), &out)
	fmt.Println(out.Outcome, out.Choice, out.Feasible)

	engine.Decide(examplePod(9000), &out)
	for _, c := range out.ReasonCounts {
		fmt.Println(c.Nodes, c.Reason.String())
	}
	// Output:
	// scheduled large 2
	// 3 Insufficient cpu
}

func ExampleNewDryRun() {
	s, p := exampleCluster()
	victim := examplePod(7000)
	victim.Name, victim.UID, victim.NodeName = "victim", "victim", "large"
	s.UpsertPod(victim)

	pod := examplePod(6000)
	run, ok := placement.NewDryRun(s, p, pod)
	if !ok {
		log.Fatal("PreFilter rejects all nodes")
	}
	v, err := run.FilterWithout("large", nil, nil)
	fmt.Println(v.Code, err)
	v, err = run.FilterWithout("large", []*model.Pod{victim}, nil)
	fmt.Println(v.Code, err)
	// Output:
	// Unschedulable <nil>
	// Success <nil>
}

func ExampleAdmissionCheck() {
	s, _ := exampleCluster()
	id, _ := s.NodeID("small")
	for _, r := range placement.AdmissionCheck(s.Node(id), examplePod(2000)) {
		fmt.Println(r.Reason, r.Missing)
	}
	// Output: OutOfcpu 1000
}
