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
			sc := newSimulatedCluster(t, 1+r.Intn(8), r.Intn(5), r.Intn(70)*r.Intn(2))
			sc.lag = time.Duration(r.Intn(3)*700) * time.Millisecond
			sc.fail = func() bool { return r.Intn(5) == 0 }
			sc.run(30 * time.Second)
			for range 15 {
				applyRandomEvent(r, sc)
				sc.run(time.Duration(r.Intn(100)) * time.Second)
				checkRateLimit(t, sc)
			}
			sc.fail = func() bool { return false }
			sc.run(20 * time.Minute)
			checkRateLimit(t, sc)
			checkSettled(t, sc)
		})
	}
}

func applyRandomEvent(r *rand.Rand, sc *simulatedCluster) {
	names := sc.names()
	name := names[r.Intn(len(names))]
	switch r.Intn(9) {
	case 0:
		sc.restart()
		sc.taintTimes = map[string][]time.Time{} // the rate limit starts over
	case 1:
		if len(names) > 1 {
			delete(sc.nodes, name)
			sc.send(NodeDeleted{name})
		}
	case 2:
		if sc.nodes["b99"] == nil {
			sc.add("b99", "r/b")
		}
	case 3:
		sc.ready[name] = []Status{True, False}[r.Intn(2)]
	case 4:
		sc.nodes[name].Unschedulable = !sc.nodes[name].Unschedulable
		sc.send(*sc.nodes[name])
	case 5:
		sc.setResponsive([]string{"a", "b", "c"}[r.Intn(3)], r.Intn(80), false)
	case 6:
		sc.setResponsive([]string{"a", "b", "c"}[r.Intn(3)], r.Intn(80), true)
	case 7:
		sc.setResponsive("", 1000, r.Intn(2) == 0)
	case 8:
		sc.responsive[name] = !sc.responsive[name]
	}
}

// checkRateLimit checks RateLimited. Delays shift single events, so it compares the mean.
func checkRateLimit(t *testing.T, sc *simulatedCluster) {
	for zone, at := range sc.taintTimes {
		if len(at) > 1 && sc.meanTaintInterval(at) < sc.o.TaintInterval {
			t.Fatalf("zone %s: RateLimited: taint times %v, want a mean interval of at least %v", zone, at, sc.o.TaintInterval)
		}
	}
}

// meanTaintInterval returns the mean time between taints, from the first and the last.
func (sc *simulatedCluster) meanTaintInterval(at []time.Time) time.Duration {
	span := at[len(at)-1].Sub(at[0]) + 2*sc.lag + lastRetry
	return span / time.Duration(len(at)-1)
}

// checkSettled checks MarkedInTime, NoneWhenAllDown, the condition taints and ZonesFromObjects after a
// period without changes.
func checkSettled(t *testing.T, sc *simulatedCluster) {
	var list []Node
	for _, name := range sc.names() {
		list = append(list, *sc.nodes[name])
	}
	zones, allDown := ComputeZones(list, sc.o, sc.now)
	reported, down := sc.m.Zones()
	if down != allDown || len(reported) != len(zones) {
		t.Fatalf("the machine has %d zones, all down: %v; want those of the objects: %d, %v", len(reported), down, len(zones), allDown)
	}
	for i := range zones {
		if reported[i].Name != zones[i].Name || reported[i].State != zones[i].State || reported[i].TaintInterval != zones[i].TaintInterval ||
			!slices.EqualFunc(reported[i].Queue, zones[i].Queue, func(a, b QueuedNode) bool { return a.Node == b.Node && a.NotReadySince.Equal(b.NotReadySince) }) {
			t.Errorf("ZonesFromObjects: the machine has zone %+v, want %+v as computed from the objects", reported[i], zones[i])
		}
	}
	for i := range list {
		n := &list[i]
		responsive := sc.responsive[n.Name]
		if want := map[bool]Status{true: sc.ready[n.Name], false: Unknown}[responsive]; n.Ready() != want {
			t.Errorf("%s: responsive %v, Ready %v, want %v", n.Name, responsive, n.Ready(), want)
		}
		if n.NoExecuteTaint() != nil && (allDown || n.Ready() == True) {
			t.Errorf("%s has a NoExecute taint with Ready %v, all down: %v; want none", n.Name, n.Ready(), allDown)
		}
		if r := taintUpdate(n, n.NoExecuteTaint() != nil, allDown, sc.now); r != nil {
			t.Errorf("%s: got update %+v, want none", n.Name, r)
		}
	}
}
