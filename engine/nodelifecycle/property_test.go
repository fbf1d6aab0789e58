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
			r := newRand(seed)
			w := newSimulatedCluster(t, 1+r.Intn(8), r.Intn(5), r.Intn(70)*r.Intn(2))
			w.lag = time.Duration(r.Intn(3)*700) * time.Millisecond
			w.fail = func() bool { return r.Intn(5) == 0 }
			w.run(30 * time.Second)
			for range 15 {
				applyRandomEvent(r, w)
				w.run(time.Duration(r.Intn(100)) * time.Second)
				checkRateLimit(t, w)
			}
			w.fail = func() bool { return false }
			w.run(20 * time.Minute)
			checkRateLimit(t, w)
			checkSettled(t, w)
		})
	}
}

// applyRandomEvent applies a random event.
func applyRandomEvent(r *rand.Rand, w *simulatedCluster) {
	names := w.names()
	name := names[r.Intn(len(names))]
	switch r.Intn(9) {
	case 0:
		w.restart()
		w.taintTimes = map[string][]time.Time{} // the rate limit starts over
	case 1:
		if len(names) > 1 {
			delete(w.nodes, name)
			w.send(NodeDeleted{name})
		}
	case 2:
		if w.nodes["b99"] == nil {
			w.add("b99", "r/b")
		}
	case 3:
		w.ready[name] = []Status{True, False}[r.Intn(2)]
	case 4:
		w.nodes[name].Unschedulable = !w.nodes[name].Unschedulable
		w.send(*w.nodes[name])
	case 5:
		w.setResponsive([]string{"a", "b", "c"}[r.Intn(3)], r.Intn(80), false)
	case 6:
		w.setResponsive([]string{"a", "b", "c"}[r.Intn(3)], r.Intn(80), true)
	case 7:
		w.setResponsive("", 1000, r.Intn(2) == 0)
	case 8:
		w.responsive[name] = !w.responsive[name]
	}
}

// checkRateLimit checks RateLimited. Delays shift single events, so it compares the mean.
func checkRateLimit(t *testing.T, w *simulatedCluster) {
	for zone, at := range w.taintTimes {
		if len(at) > 1 && w.meanTaintInterval(at) < w.o.TaintInterval {
			t.Fatalf("zone %s: RateLimited: taint times %v", zone, at)
		}
	}
}

// meanTaintInterval returns the mean time between taints, from the first and the last.
func (w *simulatedCluster) meanTaintInterval(at []time.Time) time.Duration {
	span := at[len(at)-1].Sub(at[0]) + 2*w.lag + lastRetry
	return span / time.Duration(len(at)-1)
}

// checkSettled checks LostInTime, NoneWhenAllDown, the condition taints and ZonesFromObjects after a
// quiet time.
func checkSettled(t *testing.T, w *simulatedCluster) {
	var list []Node
	for _, name := range w.names() {
		list = append(list, *w.nodes[name])
	}
	zones, allDown := ComputeZones(list, w.o, w.now)
	if reported, down := w.m.Zones(); down != allDown || len(reported) != len(zones) {
		t.Fatalf("the machine has %d zones, all down: %v; the objects have %d, %v", len(reported), down, len(zones), allDown)
	} else {
		for i := range zones {
			if reported[i].Name != zones[i].Name || reported[i].State != zones[i].State || reported[i].TaintInterval != zones[i].TaintInterval ||
				!slices.EqualFunc(reported[i].Queue, zones[i].Queue, func(a, b QueuedNode) bool { return a.Node == b.Node && a.NotReadySince.Equal(b.NotReadySince) }) {
				t.Errorf("ZonesFromObjects: the machine has zone %+v, the objects have %+v", reported[i], zones[i])
			}
		}
	}
	for i := range list {
		n := &list[i]
		responsive := w.responsive[n.Name]
		if want := map[bool]Status{true: w.ready[n.Name], false: Unknown}[responsive]; n.Ready() != want {
			t.Errorf("%s: responsive %v, Ready %v, want %v", n.Name, responsive, n.Ready(), want)
		}
		if n.NoExecuteTaint() != nil && (allDown || n.Ready() == True) {
			t.Errorf("%s has a NoExecute taint with Ready %v, all down: %v", n.Name, n.Ready(), allDown)
		}
		if r := taintUpdate(n, n.NoExecuteTaint() != nil, allDown, w.now); r != nil {
			t.Errorf("%s: got update %+v, want none", n.Name, r)
		}
	}
}
