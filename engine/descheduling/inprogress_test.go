package descheduling

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// formatPods returns the names of pods and marks expected ones.
func formatPods(pods []*Pod) string {
	var out []string
	for _, p := range pods {
		s := p.Name
		if p.Expected {
			s += " (expected)"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// TestSnapshotApplyInProgress checks that a snapshot shows moves in progress as completed: the pod
// is removed, its replacement exists, and neither can be moved again.
func TestSnapshotApplyInProgress(t *testing.T) {
	requests := func(p *Pod) { p.Spec = &model.PodSpec{Requests: model.Resources{MilliCPU: 1000}} }
	moved, evicted, finished := testPod("moved", "n1", requests), testPod("evicted", "n1", requests), testPod("done", "n1", requests)
	evicted.Deleting, finished.Phase = true, model.Failed
	replacement := testPod("replacement", "", requests)
	other := testPod("other", "n1", requests, func(p *Pod) { p.Deleting = true })
	s := testSnapshot(numberedNodes(2), testPod("stays", "n1", requests), moved, evicted, finished, replacement, other)
	s.Usage = &Usage{Nodes: map[string]model.Resources{"n1": {MilliCPU: 500}, "n2": {}}, Pods: map[string]model.Resources{
		"uid-moved": {MilliCPU: 100}, "uid-evicted": {MilliCPU: 200}, "uid-other": {MilliCPU: 50}}}
	s.ApplyInProgress([]InProgressMove{
		{Pod: moved.Pod, Details: moved.Details, To: "n2"},
		{Pod: evicted.Pod, Details: evicted.Details, To: "n2", Replacement: replacement.Pod},
		{Pod: finished.Pod, Details: finished.Details},
		{Pod: testPod("deleted", "n1").Pod, Details: &PodDetails{}, To: "n2", Replacement: testPod("placed", "n2").Pod},
	})
	n1, n2 := s.Nodes[0], s.Nodes[1]
	if formatPods(n1.Pods) != "stays" || formatPods(n2.Pods) != "evicted (expected) moved (expected)" || len(s.Unbound) != 0 {
		t.Errorf("pods on n1: %s; on n2: %s; unbound: %s; want stays; evicted (expected) moved (expected); none", formatPods(n1.Pods), formatPods(n2.Pods), formatPods(s.Unbound))
	}
	if a, b := s.Usage.Nodes["n1"].MilliCPU, s.Usage.Nodes["n2"].MilliCPU; a != 150 || b != 300 {
		t.Errorf("usage: %d on n1, %d on n2; want 150, 300", a, b)
	}
	m := &fakeMover{place: func(*Candidate) *Node { return n1 }}
	if got := evict(t, s, &Policy{}, m, namedPods{}); got != "stays" {
		t.Errorf("moved %q, want %q", got, "stays")
	}
}
