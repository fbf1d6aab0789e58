package script

import (
	"fmt"
	"strings"
	"testing"

	"github.com/berthproject/berth/sim/cluster"
)

// storm is a full cluster of 500 nodes and a thousand pods of higher priority.
const storm = `
option decisions=8 lag=20ms
node n1..n500 cpu=4
pod old1..old2000 cpu=1 priority=0 grace=5s stops=2s labels=app=old owner=old
budget old match=app=old maxUnavailable=600
at 10s pod new1..new1000 cpu=1 priority=10
at 10.1s kill scheduler for 1s
at 11.3s kill scheduler for 1s
at 13s fault partial preempt times=20
at 13.1s drop scheduler pods for 2s
expect at 5m bound 2000
expect at 5m pending 0
until 5m
`

// TestPreemptionStorm checks that the invariants hold after every step. Each victim is preempted once, and no pod is
// preempted unnecessarily, even if the scheduler is killed.
func TestPreemptionStorm(t *testing.T) {
	s, err := Parse("storm", storm)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Run(o)
	if err != nil || result.Err() != nil {
		t.Fatal(err, result.Err())
	}
	victims, kills := map[string]int{}, 0
	for _, l := range result.Timeline {
		switch l.Action {
		case "preempt":
			victims[l.Object]++
		case "kill":
			kills++
		}
	}
	for name, n := range victims {
		if n != 1 || !strings.HasPrefix(name, "default/old") {
			t.Errorf("pod %s was preempted %d times, want victims of the old workload, once each", name, n)
		}
	}
	if len(victims) != 1000 || kills != 2 {
		t.Errorf("%d victims and %d kills, want 1000 and 2", len(victims), kills)
	}
	if err := result.Cluster.CheckSettled(); err != nil {
		t.Error(err)
	}
	fmt.Printf("storm: %d victims, the last at %v; the last pod bound at %v\n", len(victims), result.Cluster.Counts().LastPreemption, result.Cluster.Counts().LastBound)
}
