package cluster_test

import (
	"fmt"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

func newState() *cluster.State {
	s := cluster.New()
	s.UpsertNode(&model.Node{Name: "node-1", AllocatablePods: 110, Allocatable: model.Resources{MilliCPU: 4000}})
	return s
}

func newPod(name string, milliCPU int64) *model.Pod {
	return &model.Pod{Namespace: "default", Name: name, UID: name,
		Spec: &model.PodSpec{Requests: model.Resources{MilliCPU: milliCPU}}}
}

func ExampleState_Assume() {
	s := newState()
	if err := s.Assume(newPod("web", 500), "node-1"); err != nil {
		fmt.Println(err)
	}
	id, _ := s.NodeID("node-1")
	fmt.Println(s.Assumed("web"), s.Node(id).Used.MilliCPU)

	s.Forget("web")
	fmt.Println(s.Assumed("web"), s.Node(id).Used.MilliCPU)
	// Output:
	// true 500
	// false 0
}

func ExampleState_Fork() {
	s := newState()
	fork := s.Fork()
	if err := fork.Assume(newPod("web", 500), "node-1"); err != nil {
		fmt.Println(err)
	}
	id, _ := s.NodeID("node-1")
	fmt.Println(fork.Node(id).Used.MilliCPU, s.Node(id).Used.MilliCPU)
	// Output: 500 0
}

func ExampleState_UpsertPod() {
	s := newState()
	p := newPod("web", 500)
	p.NodeName = "node-2" // not known yet
	s.UpsertPod(p)
	s.UpsertNode(&model.Node{Name: "node-2", AllocatablePods: 110})
	id, _ := s.NodeID("node-2")
	fmt.Println(len(s.Node(id).Pods))
	// Output: 1
}
