package drainactor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
	"github.com/berthproject/berth/sim/store"
)

// evacuations are scenarios with an evacuation, by the actor that performs it.
var evacuations = map[string]string{
	"drain": `node n1..n3 cpu=8
deployment web replicas=2 cpu=1 labels=app=web starts=2s grace=5s stops=1s
budget web match=app=web minAvailable=2
at 1m drain n1 berth surge
until 5m
expect event "berth drain ends: "
expect running 2
expect budget web healthy=2 allowed=0
`,
	"descheduler": `descheduler policy=descheduling-low.yaml first=1m every=2m
node n1 cpu=10
deployment api replicas=7 cpu=1 starts=5s grace=5s stops=2s
at 30s node n2 cpu=10
until 12m
expect event "is evicted by descheduler"
expect running 7
expect holds 0
`,
}

// TestKillPoints kills berth drain and the descheduler before and after each of their requests, and restarts them. All
// invariants and expectations must hold, and a surge must be undone.
func TestKillPoints(t *testing.T) {
	for actor, text := range evacuations {
		t.Run(actor, func(t *testing.T) {
			n := 0
			for evacuate(t, text, sim.KillPoint{Actor: actor, Request: 1 + n/2, Executed: n%2 == 1, Restart: 500 * time.Millisecond}) {
				n++
			}
			if n == 0 {
				t.Error("no request was sent")
			}
			fmt.Printf("soak: %d kill points of actor %s\n", n, actor)
		})
	}
}

// evacuate runs a scenario with a kill point and reports whether the actor was killed.
func evacuate(t *testing.T, text string, k sim.KillPoint) bool {
	t.Helper()
	s, err := script.Parse("../../scenarios/evacuation.txt", text)
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
	for _, d := range result.Cluster.API().List(store.Deployments) {
		if d.GetLabels()[drain.SurgeLabel] != "" {
			t.Errorf("killed at %+v: the surge of deployment %s is not undone", k, d.GetName())
		}
	}
	killed := func(l sim.Line) bool { return l.Actor == k.Actor && l.Action == "kill" }
	return slices.ContainsFunc(result.Timeline, killed)
}
