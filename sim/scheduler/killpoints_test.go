package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// preemption is a scenario in which the scheduler binds pods, reports one as unschedulable and preempts another.
const preemption = `node n1..n2 cpu=4
deployment web replicas=2 cpu=3 priority=10 labels=app=web grace=2s stops=1s
budget web match=app=web minAvailable=1
at 1m pod urgent cpu=3 priority=1000
at 1m pod large cpu=100 priority=0
until 5m
expect pod urgent running
expect pod large pending "Insufficient cpu"
expect event "is preempted by default/urgent"
`

// TestKillPoints kills the scheduler before and after each of its requests, and restarts it. All invariants and
// expectations must hold.
func TestKillPoints(t *testing.T) {
	n := 0
	for runKilled(t, sim.KillPoint{Actor: "scheduler", Request: 1 + n/2, Executed: n%2 == 1, Restart: 500 * time.Millisecond}) {
		n++
	}
	if n < 20 {
		t.Errorf("%d kill points, want at least those of 2 bindings, a report and a preemption", n)
	}
	fmt.Printf("soak: %d kill points of actor scheduler\n", n)
}

// runKilled runs the scenario with a kill point and reports whether the scheduler was killed.
func runKilled(t *testing.T, k sim.KillPoint) bool {
	t.Helper()
	s, err := script.Parse("preemption.txt", preemption)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.RunOn(o, s.Until(), func(c *cluster.Cluster) error {
		c.SetKillPoint(k)
		return nil
	})
	if err != nil {
		t.Fatalf("killed at %+v: %v", k, err)
	}
	defer result.Cluster.Close()
	if err := result.Err(); err != nil {
		t.Errorf("killed at %+v: %v", k, err)
	}
	return slices.ContainsFunc(result.Timeline, func(l sim.Line) bool { return l.Actor == k.Actor && l.Action == "kill" })
}
