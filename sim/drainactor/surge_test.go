package drainactor_test

import (
	"testing"

	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/script"
)

// TestSurgeIsUndoneOnlyIfUnchanged checks that a client that changes the replicas in the meantime
// takes precedence.
func TestSurgeIsUndoneOnlyIfUnchanged(t *testing.T) {
	s, err := script.Parse("surge", `node n1..n3 cpu=8
deployment web replicas=2 cpu=1 labels=app=web starts=2s grace=5s stops=1s
budget web match=app=web minAvailable=2
at 1m drain n1 berth surge
at 1m2s scale web 2
until 5m
expect event "Deployment web runs an additional replica for default/web-"
expect event "Deployment web keeps its 2 replicas: another client changed them"
expect event "berth drain ends: 0 pods moved, 0 pending, 1 blocked"
expect running 2
`)
	if err != nil {
		t.Fatal(err)
	}
	o, err := cluster.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		for _, l := range r.Timeline {
			t.Log(l)
		}
		t.Error(err)
	}
}
