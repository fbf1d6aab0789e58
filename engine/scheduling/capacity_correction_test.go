package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// rejectedPod returns a pod that a node rejected with the given free amount of cpu.
func rejectedPod(node string, free int64, at time.Time) *model.Pod {
	p := podOfOwner("rejected", "db", 100)
	p.NodeName, p.Phase, p.Evicted = node, model.Failed, &model.NodeEviction{Node: node, At: at, Shortage: &model.ResourceShortage{Pod: p.UID, Resource: "cpu", Free: free}}
	return p
}

// nodeWithCPU returns node n2 with the given cpu.
func nodeWithCPU(cpu int64) *model.Node {
	return &model.Node{Name: "n2", UID: "n2", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: cpu}}
}

func TestRejectionCorrectsCapacity(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	s.step("", nodeWithCPU(1000), rejectedPod("n2", 50, t0))
	s.step("report:web:unschedulable", podOfOwner("web", "web", 100))
	if n := s.m.ReportedNode("n2"); n.Allocatable.MilliCPU != 1000 {
		t.Errorf("reported node has %d millicores, want 1000", n.Allocatable.MilliCPU)
	}
	s.step("bind:small:n2", podOfOwner("small", "small", 40))
	s.now = t0.Add(20*time.Second - time.Millisecond)
	s.step("")
	s.wait(time.Millisecond)
	s.step("bind:web:n2")
	if len(s.m.assumedPressures) > 0 {
		t.Errorf("the machine assumes %+v, want nothing", s.m.assumedPressures[0])
	}
}

func TestResizedNodeDropsCorrection(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	s.step("", nodeWithCPU(1000), rejectedPod("n2", 50, t0))
	s.step("report:web:unschedulable", podOfOwner("web", "web", 100))
	s.wait(time.Second)
	s.step("bind:web:n2", nodeWithCPU(150))
	if len(s.m.assumedPressures) > 0 {
		t.Errorf("the machine assumes %+v, want nothing", s.m.assumedPressures[0])
	}
}

// TestFullNodeGetsNoCorrection checks that a node is not corrected if its pods explain its free
// amount.
func TestFullNodeGetsNoCorrection(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	existing := podOfOwner("existing", "existing", 900)
	existing.NodeName = "n2"
	s.step("", nodeWithCPU(1000), existing, rejectedPod("n2", 100, t0))
	s.step("bind:web:n2", podOfOwner("web", "web", 100))
}
