package cluster

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
)

func TestPodCounts(t *testing.T) {
	s := New()
	s.UpsertNode(&model.Node{Name: "n1"})
	expect := func(when string, s *State, counted, assumed int) {
		t.Helper()
		if c, a := s.PodCounts(); c != counted || a != assumed {
			t.Errorf("%s: %d pods, %d assumed; want %d, %d", when, c, a, counted, assumed)
		}
	}
	pod := func(uid, node string, phase model.Phase) *model.Pod {
		return &model.Pod{Namespace: "ns", Name: uid, UID: uid, NodeName: node, Phase: phase, Spec: &model.PodSpec{}}
	}
	s.UpsertPod(pod("a", "", model.Pending))
	expect("one is pending", s, 0, 0)
	if err := s.Assume(pod("a", "", model.Pending), "n1"); err != nil {
		t.Fatal(err)
	}
	s.UpsertPod(pod("b", "n1", model.Running))
	expect("one is assumed, one is bound", s, 2, 1)
	fork := s.Fork()
	s.UpsertPod(pod("a", "n1", model.Pending))
	expect("the binding is reported", s, 2, 0)
	s.UpsertPod(pod("b", "n1", model.Succeeded))
	s.RemovePod("a")
	expect("one is finished, one is deleted", s, 0, 0)
	expect("the fork", fork, 2, 1)
	fork.Forget("a")
	expect("the fork, after one is forgotten", fork, 1, 0)
}
