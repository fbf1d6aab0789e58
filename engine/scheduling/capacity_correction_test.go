package scheduling

import (
	"testing"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// rejectedPod returns a pod that a node rejected with the given amount left.
func rejectedPod(node string, free int64, at time.Time) *model.Pod {
	p := ofOwner("out", "db", 100)
	p.NodeName, p.Phase, p.Evicted = node, model.Failed, &model.NodeEviction{Node: node, At: at, Shortage: &model.ResourceShortage{Pod: p.UID, Resource: "cpu", Free: free}}
	return p
}

// sized returns node n2 with the given cpu.
func sized(cpu int64) *model.Node {
	return &model.Node{Name: "n2", UID: "n2", AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: cpu}}
}

func TestRejectionCorrectsCapacity(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	s.step("", sized(1000), rejectedPod("n2", 50, t0))
	s.step("report:web:unschedulable", ofOwner("web", "web", 100))
	if n := s.m.ReportedNode("n2"); n.Allocatable.MilliCPU != 1000 {
		t.Errorf("reported %d", n.Allocatable.MilliCPU)
	}
	s.step("bind:small:n2", ofOwner("small", "small", 40))
	s.now = t0.Add(20*time.Second - time.Millisecond)
	s.step("")
	s.wait(time.Millisecond)
	s.step("bind:web:n2")
	if len(s.m.assumedPressures) > 0 {
		t.Errorf("the machine still assumes %+v", s.m.assumedPressures[0])
	}
}

func TestResizedNodeDropsCorrection(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	s.step("", sized(1000), rejectedPod("n2", 50, t0))
	s.step("report:web:unschedulable", ofOwner("web", "web", 100))
	s.wait(time.Second)
	s.step("bind:web:n2", sized(150))
	if len(s.m.assumedPressures) > 0 {
		t.Errorf("the machine still assumes %+v", s.m.assumedPressures[0])
	}
}

// A node that is as full as its pods add up to gets no correction.
func TestFullNodeGetsNoCorrection(t *testing.T) {
	s := newPlacementTest(t)
	s.step("", Remove{&model.Node{Name: "n1"}})
	existing := ofOwner("there", "there", 900)
	existing.NodeName = "n2"
	s.step("", sized(1000), existing, rejectedPod("n2", 100, t0))
	s.step("bind:web:n2", ofOwner("web", "web", 100))
}
