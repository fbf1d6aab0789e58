package nodelifecycle

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"
)

// TestRandomEvents simulates random failures and checks the package's invariants.
func TestRandomEvents(t *testing.T) {
	for seed := range int64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := random(seed)
			w := newSimulatedCluster(t, 1+r.Intn(8), r.Intn(5), r.Intn(70)*r.Intn(2))
			w.lag = time.Duration(r.Intn(3)*700) * time.Millisecond
			w.fail = func() bool { return r.Intn(5) == 0 }
			w.run(30 * time.Second)
			for range 15 {
				happen(r, w)
				w.run(time.Duration(r.Intn(100)) * time.Second)
				rationed(t, w)
			}
			w.fail = func() bool { return false }
			w.run(20 * time.Minute)
			rationed(t, w)
			settled(t, w)
		})
	}
}

// happen applies a random event.
func happen(r *rand.Rand, w *simulatedCluster) {
	names := w.names()
	some := names[r.Intn(len(names))]
	switch r.Intn(9) {
	case 0:
		w.restart()
		w.turns = map[string][]time.Time{} // another machine's rate
	case 1:
		if len(names) > 1 {
			delete(w.nodes, some)
			w.send(NodeDeleted{some})
		}
	case 2:
		if w.nodes["b99"] == nil {
			w.add("b99", "r/b")
		}
	case 3:
		w.ready[some] = []Status{True, False}[r.Intn(2)]
	case 4:
		w.nodes[some].Unschedulable = !w.nodes[some].Unschedulable
		w.send(*w.nodes[some])
	case 5:
		w.stop([]string{"a", "b", "c"}[r.Intn(3)], r.Intn(80), false)
	case 6:
		w.stop([]string{"a", "b", "c"}[r.Intn(3)], r.Intn(80), true)
	case 7:
		w.stop("", 1000, r.Intn(2) == 0)
	case 8:
		w.alive[some] = !w.alive[some]
	}
}

// rationed checks RateLimited. Delays shift single events, so it compares the mean.
func rationed(t *testing.T, w *simulatedCluster) {
	for zone, at := range w.turns {
		if len(at) > 1 && w.fastest(at) < w.o.TaintInterval {
			t.Fatalf("zone %s: taint times %v", zone, at)
		}
	}
}

// fastest returns the mean time between taints, from the first and the last.
func (w *simulatedCluster) fastest(at []time.Time) time.Duration {
	span := at[len(at)-1].Sub(at[0]) + 2*w.lag + lastRetry
	return span / time.Duration(len(at)-1)
}

// settled checks LostInTime, NoneWhenAllDown, the condition taints and ZonesFromObjects after a
// quiet time.
func settled(t *testing.T, w *simulatedCluster) {
	var list []Node
	for _, name := range w.names() {
		list = append(list, *w.nodes[name])
	}
	zones, all := ComputeZones(list, w.o, w.now)
	if reported, down := w.m.Zones(); down != all || len(reported) != len(zones) {
		t.Fatalf("the machine has %d zones, all down: %v; the objects have %d, %v", len(reported), down, len(zones), all)
	} else {
		for i := range zones {
			if reported[i].Name != zones[i].Name || reported[i].State != zones[i].State || reported[i].TaintInterval != zones[i].TaintInterval ||
				!slices.EqualFunc(reported[i].Queue, zones[i].Queue, func(a, b QueuedNode) bool { return a.Node == b.Node && a.NotReadySince.Equal(b.NotReadySince) }) {
				t.Errorf("zone %+v of the machine is %+v by the objects", reported[i], zones[i])
			}
		}
	}
	for i := range list {
		n := &list[i]
		alive := w.alive[n.Name]
		if want := map[bool]Status{true: w.ready[n.Name], false: Unknown}[alive]; n.Ready() != want {
			t.Errorf("%s: alive %v, ready %v", n.Name, alive, n.Ready())
		}
		if n.NoExecuteTaint() != nil && (all || n.Ready() == True) {
			t.Errorf("%s: tainted, ready %v, all down: %v", n.Name, n.Ready(), all)
		}
		if r := taintUpdate(n, n.NoExecuteTaint() != nil, all, w.now); r != nil {
			t.Errorf("%s is tainted again: %+v", n.Name, r)
		}
	}
}
