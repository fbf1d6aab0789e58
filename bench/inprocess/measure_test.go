package main

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// preemptors returns a workload of pods that must each preempt one of the four pods of a node.
func preemptors(nodes, pods int) *Workload {
	pod := func(priority int32) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": "web"}},
			Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: &priority,
				Containers: []corev1.Container{{Name: "c", Image: "registry.example/app:1", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}}}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending}}
	}
	w := &Workload{Name: "preemption", Templates: []*corev1.Pod{pod(0), pod(1000)}, Warm: 20}
	for i := range nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i)}}
		n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods: resource.MustParse("110")}
		w.Nodes = append(w.Nodes, n)
		for range 4 {
			w.Placed = append(w.Placed, struct {
				Template int
				Node     string
			}{0, n.Name})
		}
	}
	for range pods + w.Warm {
		w.Pods = append(w.Pods, 1)
	}
	return w
}

// TestPreemptorAllocations checks that a preemptor needs at most 30 allocations, including those for
// its victim, for any number of nodes. No hash table grows at these sizes.
func TestPreemptorAllocations(t *testing.T) {
	const limit = 30
	for _, nodes := range []int{600, 2400} {
		r, _, err := runOnce(preemptors(nodes, 500))
		if err != nil {
			t.Fatal(err)
		}
		if r.Bound != 500 || r.Victims != 500 {
			t.Fatalf("%d nodes: got %d bound pods and %d victims, want 500 each", nodes, r.Bound, r.Victims)
		}
		if got := r.Allocs / float64(r.Pods); got > limit {
			t.Errorf("%d nodes: got %.1f allocations per pod, want at most %d", nodes, got, limit)
		} else {
			t.Logf("%d nodes: %.1f allocations per pod", nodes, got)
		}
	}
}

// TestShell checks that each preemptor is bound and has one victim if the machine runs with the informers and
// the executor of the scheduler.
func TestShell(t *testing.T) {
	r, _, err := runOnceInShell(preemptors(50, 30))
	if err != nil {
		t.Fatal(err)
	}
	if r.Bound != 30 || r.Victims != 30 {
		t.Errorf("got %d bound pods and %d victims, want 30 each", r.Bound, r.Victims)
	}
}
