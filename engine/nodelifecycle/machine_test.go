package nodelifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

const unreachable = "unreachable:NoExecute"

func TestOneOfFiftyNodesFails(t *testing.T) {
	sc := newSimulatedCluster(t, 50)
	sc.run(100 * time.Second)
	sc.log = nil
	sc.setResponsive("a", 1, false) // its last renewal was at 100 s
	sc.run(60 * time.Second)
	want := []string{"150 a00 unknown", "150 a00 +unreachable:NoSchedule", "150 a00 +unreachable:NoExecute"}
	if !slices.Equal(sc.log, want) {
		t.Errorf("log %q, want %q", sc.log, want)
	}
	sc.setResponsive("a", 1, true)
	sc.run(20 * time.Second)
	if sc.countTainted(unreachable)+sc.countTainted("unreachable:NoSchedule") != 0 {
		t.Errorf("taints %v of a node that is ready again, want none", sc.nodes["a00"].Taints)
	}
}

func TestTaintRates(t *testing.T) {
	for name, tc := range map[string]struct {
		zones  []int
		silent int // of the first zone
		after  time.Duration
		want   []string
	}{
		"normal zone: one node in 10 s":                         {[]int{50}, 3, time.Minute, []string{"150 a00", "160 a01", "170 a02"}},
		"large zone, partial disruption":                        {[]int{60}, 40, 5 * time.Minute, []string{"150 a00", "250 a01", "350 a02"}},
		"small zone, partial disruption":                        {[]int{50}, 40, time.Hour, nil},
		"full disruption of one of two zones: one node in 10 s": {[]int{3, 3}, 3, time.Minute, []string{"150 a00", "160 a01", "170 a02"}},
		"all zones": {[]int{50}, 50, time.Hour, nil},
		"two of three nodes are no partial disruption": {[]int{3}, 2, time.Minute, []string{"150 a00", "160 a01"}},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newSimulatedCluster(t, tc.zones...)
			sc.run(100 * time.Second)
			sc.setResponsive("a", tc.silent, false)
			sc.run(50*time.Second + tc.after)
			got := sc.logEntries("+" + unreachable)
			if len(got) > 3 {
				got = got[:3]
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("tainted %v, want %v", got, tc.want)
			}
		})
	}
}

func TestFullDisruptionOfAllZonesRemovesTaints(t *testing.T) {
	sc := newSimulatedCluster(t, 4)
	sc.run(100 * time.Second)
	sc.setResponsive("a", 1, false)
	sc.run(100 * time.Second)
	if sc.countTainted(unreachable) != 1 {
		t.Fatalf("%d nodes are tainted, want 1", sc.countTainted(unreachable))
	}
	sc.setResponsive("a", 4, false)
	sc.run(100 * time.Second)
	if _, all := sc.m.Zones(); !all || sc.countTainted(unreachable) != 0 {
		t.Fatalf("all down: %v, %d nodes are tainted; want true, 0", all, sc.countTainted(unreachable))
	}
	sc.responsive["a03"] = true
	sc.log = nil
	sc.run(10 * time.Minute)
	// One node renews its Lease again at 310 s; three of four are not ready in a small zone, so none is tainted yet.
	if got := sc.logEntries("+" + unreachable); len(got) != 0 {
		t.Errorf("tainted nodes %v, want none", got)
	}
	sc.responsive["a02"] = true
	sc.run(10 * time.Minute)
	if got, want := sc.logEntries("+"+unreachable), []string{"911 a00", "921 a01"}; !slices.Equal(got, want) {
		t.Errorf("tainted nodes %v, want %v", got, want)
	}
}

func TestGraceRestartsAfterFullDisruption(t *testing.T) {
	sc := newSimulatedCluster(t, 2)
	sc.run(100 * time.Second)
	sc.setResponsive("a", 2, false)
	sc.run(100 * time.Second)
	sc.responsive["a01"] = true // heartbeat at 210 s
	sc.run(100 * time.Second)
	got := sc.logEntries("+" + unreachable)
	if len(got) != 1 || got[0] < "260" {
		t.Errorf("tainted %v, want one node, no earlier than a grace period after 210 s", got)
	}
}

func TestStartGrace(t *testing.T) {
	sc := newSimulatedCluster(t, 6)
	sc.run(100 * time.Second)
	sc.setResponsive("a", 2, false)
	sc.run(50*time.Second + time.Second) // marked, and the first tainted
	for _, name := range []string{"a02", "a03"} {
		sc.responsive[name] = false
	}
	// An hour without a machine and without heartbeats.
	sc.now = sc.now.Add(time.Hour)
	before := sc.countTainted(unreachable)
	sc.log = nil
	sc.restart()
	sc.run(49 * time.Second)
	if sc.countTainted(unreachable) != before || len(sc.logEntries("unknown")) != 0 {
		t.Errorf("within the first grace period: %v, want no change", sc.log)
	}
	sc.run(30 * time.Second)
	if got := sc.logEntries("unknown"); len(got) != 2 {
		t.Errorf("nodes with unknown conditions %v, want two", got)
	}
}

func TestOwnDelayIsNotNodeSilence(t *testing.T) {
	sc := newSimulatedCluster(t, 6)
	sc.run(100 * time.Second)
	sc.log = nil
	sc.now = sc.now.Add(10 * time.Minute) // stopped together with all nodes
	effects, _ := sc.m.Step(sc.now, nil)
	if len(effects) != 0 {
		t.Errorf("effects %v, want none", effects)
	}
	sc.wake = sc.now
	sc.setResponsive("a", 1, false)
	sc.run(2 * time.Minute)
	if got := sc.logEntries("unknown"); len(got) != 1 || !strings.Contains(got[0], "a00") {
		t.Errorf("nodes with unknown conditions %v, want a00", got)
	}
}

func TestTaintKeepsTimeAcrossStatusChange(t *testing.T) {
	sc := newSimulatedCluster(t, 6)
	sc.run(100 * time.Second)
	sc.ready["a00"] = False
	sc.run(20 * time.Second)
	at := sc.nodes["a00"].noExecuteTaint(TaintNotReady)
	if at == nil {
		t.Fatalf("taints %v, want not-ready:NoExecute", sc.nodes["a00"].Taints)
	}
	added := at.Added
	sc.responsive["a00"] = false
	sc.run(70 * time.Second)
	n := sc.nodes["a00"]
	if taint := n.noExecuteTaint(TaintUnreachable); taint == nil || !taint.Added.Equal(added) || n.noExecuteTaint(TaintNotReady) != nil || n.Ready() != Unknown {
		t.Errorf("taints %v with Ready %v; want unreachable with the time of not-ready", n.Taints, n.Ready())
	}
}

func TestNodeWithoutStatusBecomesUnknown(t *testing.T) {
	sc := newSimulatedCluster(t, 3)
	sc.run(100 * time.Second)
	n := &Node{Name: "new", UID: "u", Zone: "r/a", Created: sc.now,
		Taints: []model.TimedTaint{{Taint: model.Taint{Key: TaintNotReady, Effect: model.NoSchedule}}}}
	sc.nodes["new"] = n
	sc.send(*n)
	sc.run(60 * time.Second)
	if n.Ready() != Absent || len(n.Taints) != 1 {
		t.Errorf("Ready is %v with taints %v, want Absent with one", n.Ready(), n.Taints)
	}
	sc.run(time.Second)
	if c := n.Condition(Ready); c.Status != Unknown || c.Reason != "NodeStatusNeverUpdated" || sc.countTainted(unreachable) != 1 {
		t.Errorf("condition %+v, taints %v; want Unknown and unreachable", c, n.Taints)
	}
}

func TestFailedUpdatesAreRetried(t *testing.T) {
	sc := newSimulatedCluster(t, 6)
	sc.run(100 * time.Second)
	attempts := 0
	sc.fail = func() bool { attempts++; return attempts < 4 }
	sc.setResponsive("a", 1, false)
	sc.run(2 * time.Minute)
	if sc.countTainted(unreachable) != 1 || len(sc.logEntries("unknown")) != 1 {
		t.Errorf("after %d attempts: %v, want one taint and one unknown", attempts, sc.log)
	}
}

func TestUnmanagedTaintsAreKept(t *testing.T) {
	sc := newSimulatedCluster(t, 6)
	n := sc.nodes["a00"]
	unmanaged := []model.TimedTaint{
		{Taint: model.Taint{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true", Effect: model.NoSchedule}},
		{Taint: model.Taint{Key: "node.kubernetes.io/out-of-service", Value: "nodeshutdown", Effect: model.NoExecute}},
		{Taint: model.Taint{Key: TaintMemoryPressure, Effect: model.NoExecute}},
	}
	n.Taints = append(slices.Clone(unmanaged), model.TimedTaint{Taint: model.Taint{Key: TaintPIDPressure, Effect: model.NoSchedule}})
	n.Unschedulable = true
	sc.send(*n)
	sc.run(time.Minute)
	want := append(slices.Clone(unmanaged), model.TimedTaint{Taint: model.Taint{Key: TaintUnschedulable, Effect: model.NoSchedule}, Added: startTime})
	if fmt.Sprint(n.Taints) != fmt.Sprint(want) {
		t.Errorf("taints %v, want %v", n.Taints, want)
	}
}

func TestExcludedNode(t *testing.T) {
	nodes := []Node{{Name: "a", Excluded: true, Conditions: []Condition{{Type: Ready, Status: Unknown}}}, {Name: "b", Conditions: []Condition{{Type: Ready, Status: True}}}}
	zones, all := ComputeZones(nodes, Defaults(), startTime)
	if all || len(zones) != 1 || zones[0].Nodes != 1 || zones[0].State != Normal || len(zones[0].Queue) != 1 {
		t.Errorf("zones %+v, all down: %v; want one Normal zone with 1 node and the excluded node queued, false", zones, all)
	}
	if zones, all := ComputeZones(nil, Defaults(), startTime); all || len(zones) != 0 {
		t.Errorf("zones %+v, all down: %v; want no zones and false", zones, all)
	}
}
