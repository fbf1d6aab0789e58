package plugins

import (
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// TestInProgressMovesAreNotReplacedTwice checks that a node above its target loses no extra pods
// while a moved pod is still terminating.
func TestInProgressMovesAreNotReplacedTwice(t *testing.T) {
	nodes := numberedNodes(2)
	var pods []*descheduling.Pod
	for _, name := range []string{"a", "b", "c", "d"} {
		pods = append(pods, testPod(name, "n1", func(p *descheduling.Pod) { p.Spec = &model.PodSpec{Requests: model.Resources{MilliCPU: 750}} }))
	}
	low := &LowNodeUtilization{Thresholds: Thresholds{{Resource: "cpu", Percent: 20}}, Targets: Thresholds{{Resource: "cpu", Percent: 60}}}
	plan := func(inProgress ...descheduling.InProgressMove) string {
		s := testSnapshot(nodes, pods...)
		s.ApplyInProgress(inProgress)
		return evict(t, s, &descheduling.Policy{}, &fakeMover{place: func(*descheduling.Candidate) *descheduling.Node { return nodes[1] }}, low)
	}
	if first := plan(); first != "a" {
		t.Fatalf("the first plan moved %q, want a", first)
	}
	if second := plan(descheduling.InProgressMove{Pod: pods[0].Pod, Details: pods[0].Details, To: "n2"}); second != "" {
		t.Errorf("the second plan moved %q, want none", second)
	}
}

// TestNamespaceSelectorOfDuplicates checks that the namespace selector also applies to duplicates:
// a plan counts pods of other namespaces but does not move them.
func TestNamespaceSelectorOfDuplicates(t *testing.T) {
	nodes := numberedNodes(2)
	s := testSnapshot(nodes, testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n1"))
	args := defaultArgs()
	args.NamespaceSelector = labelSelector("env", "prod")
	for _, m := range []*fakeMover{{}, {place: func(*descheduling.Candidate) *descheduling.Node { return nodes[1] }}} {
		if got := evict(t, s, &descheduling.Policy{Profiles: []descheduling.Profile{{Name: "p", Evictor: args}}}, m, &RemoveDuplicates{}); got != "" {
			t.Errorf("evicted %q, want none", got)
		}
	}
}
