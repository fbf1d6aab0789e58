package rebalance

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// shown are the pods of a node.
func shown(pods []*Pod) string {
	var out []string
	for _, p := range pods {
		s := p.Name
		if p.Coming {
			s += " (coming)"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// What is under way is seen as it will be: who leaves is gone, who comes is there, and neither is moved once more.
func TestASnapshotForeseesWhatIsUnderWay(t *testing.T) {
	asks := func(p *Pod) { p.Spec = &model.PodSpec{Requests: model.Requests{MilliCPU: 1000}} }
	leaving, evicted, done := testPod("leaving", "n1", asks), testPod("evicted", "n1", asks), testPod("done", "n1", asks)
	evicted.Deleting, done.Phase = true, model.Failed
	replacement := testPod("replacement", "", asks)
	other := testPod("other", "n1", asks, func(p *Pod) { p.Deleting = true })
	s := testSnapshot(numbered(2), testPod("stays", "n1", asks), leaving, evicted, done, replacement, other)
	s.Usage = &Usage{Nodes: map[string]model.Requests{"n1": {MilliCPU: 500}, "n2": {}}, Pods: map[string]model.Requests{
		"uid-leaving": {MilliCPU: 100}, "uid-evicted": {MilliCPU: 200}, "uid-other": {MilliCPU: 50}}}
	s.Foresee([]UnderWay{
		{Pod: leaving.Pod, Facts: leaving.Facts, To: "n2"},
		{Pod: evicted.Pod, Facts: evicted.Facts, To: "n2", Replacement: replacement.Pod},
		{Pod: done.Pod, Facts: done.Facts},
		{Pod: testPod("gone", "n1").Pod, Facts: &Facts{}, To: "n2", Replacement: testPod("placed", "n2").Pod},
	})
	one, two := s.Nodes[0], s.Nodes[1]
	if shown(one.Pods) != "stays" || shown(two.Pods) != "evicted (coming) leaving (coming)" || len(s.Unbound) != 0 {
		t.Errorf("n1: %s; n2: %s; without a node: %s", shown(one.Pods), shown(two.Pods), shown(s.Unbound))
	}
	if a, b := s.Usage.Nodes["n1"].MilliCPU, s.Usage.Nodes["n2"].MilliCPU; a != 150 || b != 300 {
		t.Errorf("in use are %d of n1 and %d of n2", a, b)
	}
	m := &evicter{place: func(*Candidate) *Node { return one }}
	if got := evict(t, s, &Policy{}, m, named{}); got != "stays" {
		t.Errorf("moved are %q", got)
	}
}

// A node above its target loses no more than it has to while a pod that was moved takes its time to leave.
func TestWhatIsUnderWayIsNotMadeUpForTwice(t *testing.T) {
	nodes := numbered(2)
	var pods []*Pod
	for _, name := range []string{"a", "b", "c", "d"} {
		pods = append(pods, testPod(name, "n1", func(p *Pod) { p.Spec = &model.PodSpec{Requests: model.Requests{MilliCPU: 750}} }))
	}
	low := &LowNodeUtilization{Thresholds: Thresholds{{Resource: "cpu", Percent: 20}}, Targets: Thresholds{{Resource: "cpu", Percent: 60}}}
	plans := func(under ...UnderWay) string {
		s := testSnapshot(nodes, pods...)
		s.Foresee(under)
		return evict(t, s, &Policy{}, &evicter{place: func(*Candidate) *Node { return nodes[1] }}, low)
	}
	if first := plans(); first != "a" {
		t.Fatalf("the first plan moves %q", first)
	}
	if second := plans(UnderWay{Pod: pods[0].Pod, Facts: pods[0].Facts, To: "n2"}); second != "" {
		t.Errorf("the second one moves %q", second)
	}
}
