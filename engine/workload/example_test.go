package workload_test

import (
	"fmt"
	"time"

	"github.com/berthproject/berth/engine/workload"
)

func ExampleReplicaSet_Plan() {
	r := workload.ReplicaSet{Replicas: 3}
	plan := r.Plan(time.Unix(0, 0), []workload.Pod{{Name: "a", UID: "a"}}, nil, time.Time{})
	fmt.Println("create", plan.Create)
	// Output:
	// create 2
}

// A pod that failed right after its start is replaced with a delay.
func ExampleBackoffUntil() {
	start := time.Unix(0, 0)
	failures := []workload.PodFailure{
		{Node: "n1", Cause: "OutOfcpu", StartedAt: start, FailedAt: start.Add(time.Second)},
		{Node: "n1", Cause: "OutOfcpu", StartedAt: start.Add(11 * time.Second), FailedAt: start.Add(12 * time.Second)},
	}
	until, last := workload.BackoffUntil(failures, "n1")
	fmt.Println("wait", until.Sub(last.FailedAt))
	// Output:
	// wait 20s
}

func ExampleParseIndexes() {
	s, err := workload.ParseIndexes("1,3-5", 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Len(), s.Has(4), s.With(2))
	// Output:
	// 4 true 1-5
}
