package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// evictedPod returns a pod that a node evicted because of memory pressure.
func evictedPod(node string, at time.Time) *model.Pod {
	p := podOfOwner("evicted", "db", 100)
	p.NodeName, p.Phase, p.Evicted = node, model.Failed, &model.NodeEviction{Node: node, Pressure: model.MemoryPressure, At: at}
	return p
}

func nodeWithPressure(k model.Pressure, status bool, at time.Time, taints ...model.Taint) *model.Node {
	n := &model.Node{Name: "n2", UID: "n2", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: 1000}, Taints: taints}
	n.Pressures[k] = model.PressureCondition{True: status, Written: at}
	return n
}

func TestAssumedPressureRepelsPodsUntilExpiry(t *testing.T) {
	later := t0.Add(time.Second)
	memory := model.MemoryPressure
	for name, c := range map[string]struct {
		update *model.Node
		ends   time.Duration // when the pod can be bound, after the eviction; 0: not at all
	}{
		"for 20 seconds without a report":              {nil, 20 * time.Second},
		"until the node reports no pressure":           {nodeWithPressure(memory, false, later), time.Second},
		"not ended by an earlier report":               {nodeWithPressure(memory, false, t0), 20 * time.Second},
		"not ended by a report about another pressure": {nodeWithPressure(model.DiskPressure, false, later), 20 * time.Second},
		"not ended by a condition without taint":       {nodeWithPressure(memory, true, later), 20 * time.Second},
		"ended by the node's taint":                    {nodeWithPressure(memory, true, later, memory.Taint()), 0},
	} {
		for _, order := range []string{"node first", "pod first"} {
			t.Run(name+", "+order, func(t *testing.T) {
				s := newPlacementTest(t)
				s.step("", Remove{&model.Node{Name: "n1"}})
				n, evicted := nodeWithPressure(memory, false, time.Time{}), evictedPod("n2", t0)
				if order == "node first" {
					s.step("", n, evicted)
				} else {
					s.step("", evicted, n)
				}
				s.step("report:web:unschedulable", podOfOwner("web", "web", 100))
				s.wait(time.Second)
				want := ""
				if c.ends == time.Second {
					want = "bind:web:n2"
				}
				if c.update != nil {
					s.step(want, c.update)
				}
				if c.ends == 20*time.Second {
					if wake := s.m.nextWake(s.now); wake.IsZero() || wake.After(t0.Add(c.ends)) {
						t.Errorf("wake %v, want at most %v", wake, t0.Add(c.ends))
					}
					s.now = t0.Add(c.ends - time.Millisecond)
					s.step("")
					s.wait(time.Millisecond)
					s.step("bind:web:n2")
				}
				if c.ends > 0 && len(s.m.assumedPressures) > 0 {
					t.Errorf("the machine assumes %+v, want nothing", s.m.assumedPressures[0])
				}
			})
		}
	}
}

func TestOldEvictionsAssumeNoPressure(t *testing.T) {
	s := newPlacementTest(t)
	s.step("bind:web:n1", evictedPod("n1", t0.Add(-20*time.Second)), podOfOwner("web", "web", 100))
}

// TestFutureEvictionTimeIsClamped checks that an eviction time in the future does not extend the
// assumption. Otherwise a client that may write pod status could block a node for years.
func TestFutureEvictionTimeIsClamped(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	s.step("", nodeWithPressure(model.MemoryPressure, false, time.Time{}), evictedPod("n2", t0.Add(1000*time.Hour)))
	s.step("report:web:unschedulable", podOfOwner("web", "web", 100))
	s.wait(20 * time.Second)
	s.step("bind:web:n2")
}

func TestAssumedPressureEndsWithNodeDeletion(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", evictedPod("n1", t0))
	s.step("", Remove{&model.Node{Name: "n1"}})
	s.wait(21 * time.Second)
	s.step("")
	if s.m.State().NumNodes() != 0 || len(s.m.assumedPressures) != 0 {
		t.Errorf("%d nodes and %d assumptions, want none", s.m.State().NumNodes(), len(s.m.assumedPressures))
	}
}
