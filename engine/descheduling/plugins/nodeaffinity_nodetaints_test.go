package plugins

import (
	"fmt"
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// taintedNodes returns four nodes: n1 has three taints, n2 one of them, n3 a PreferNoSchedule
// taint, and n4 none.
func taintedNodes() []*descheduling.Node {
	nodes := numberedNodes(4)
	gpu, old := model.Taint{Key: "gpu", Value: "yes", Effect: model.NoSchedule}, model.Taint{Key: "old", Effect: model.NoSchedule}
	nodes[0].Taints = []model.Taint{gpu, old, {Key: "retired", Effect: model.NoExecute}}
	nodes[1].Taints = []model.Taint{gpu}
	nodes[2].Taints = []model.Taint{{Key: "soft", Effect: model.PreferNoSchedule}}
	return nodes
}

func TestTaints(t *testing.T) {
	tolerates := func(key string) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) {
			p.Spec = &model.PodSpec{Tolerations: []model.Toleration{{Key: key, Op: model.TolExists}}}
		}
	}
	for _, c := range []struct {
		s    RemovePodsViolatingNodeTaints
		want string
	}{
		{RemovePodsViolatingNodeTaints{}, "a b c"},
		{RemovePodsViolatingNodeTaints{PreferNoSchedule: true}, "a b c d"},
		{RemovePodsViolatingNodeTaints{Excluded: []string{"gpu"}}, "a"},
		{RemovePodsViolatingNodeTaints{Excluded: []string{"gpu=yes"}}, "a"},
		{RemovePodsViolatingNodeTaints{Excluded: []string{"gpu=no"}}, "a b c"},
		{RemovePodsViolatingNodeTaints{Included: []string{"gpu"}}, "b c"},
		{RemovePodsViolatingNodeTaints{Included: []string{"old="}}, ""},
		{RemovePodsViolatingNodeTaints{Included: []string{"retired"}}, ""},
		{RemovePodsViolatingNodeTaints{Scope: descheduling.Scope{Labels: labelSelector("app", "web")}}, ""},
	} {
		s := testSnapshot(taintedNodes(), testPod("a", "n1", tolerates("gpu")), testPod("b", "n1", tolerates("old")), testPod("c", "n2"),
			testPod("d", "n3"), testPod("e", "n1", tolerates("")), testPod("f", "n4"), testPod("g", "n1", func(p *descheduling.Pod) { p.Phase = model.Succeeded }))
		if got := evict(t, s, &descheduling.Policy{}, &fakeMover{}, &c.s); got != c.want {
			t.Errorf("%+v: evicted %q, want %q", c.s, got, c.want)
		}
	}
}

// TestTaintGain checks that a node with fewer untolerated taints is no improvement, because the
// strategy would evict the pod from that node, too.
func TestTaintGain(t *testing.T) {
	nodes := taintedNodes()
	var got string
	m := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node {
		for _, n := range nodes {
			got += fmt.Sprint(c.Gain(n).Improves(), " ")
		}
		got += c.Reason()
		return nil
	}}
	evict(t, testSnapshot(nodes, testPod("a", "n1")), &descheduling.Policy{}, m, &RemovePodsViolatingNodeTaints{PreferNoSchedule: true})
	if want := "false false false true it does not tolerate gpu=yes:NoSchedule, old:NoSchedule"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// labeledNodes returns nodes n1 to n3 with disk=hdd, ssd and nvme.
func labeledNodes() []*descheduling.Node {
	nodes := numberedNodes(3)
	for i, v := range []string{"hdd", "ssd", "nvme"} {
		nodes[i].Labels = model.LabelsOf(map[string]string{"disk": v})
	}
	return nodes
}

func nodeTerm(value string) model.NodeSelectorTerm {
	return model.NodeSelectorTerm{Labels: labelSelector("disk", value).Requirements}
}

func TestNodeAffinity(t *testing.T) {
	required := func(values ...string) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) {
			p.Spec = &model.PodSpec{NodeSelector: model.NodeSelector{HasRequired: true}}
			for _, v := range values {
				p.Spec.NodeSelector.Required = append(p.Spec.NodeSelector.Required, nodeTerm(v))
			}
		}
	}
	preferred := func(ssd, nvme int32) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) {
			p.Spec = &model.PodSpec{NodeSelector: model.NodeSelector{Preferred: []model.PreferredSchedulingTerm{
				{Weight: ssd, Term: nodeTerm("ssd")}, {Weight: nvme, Term: nodeTerm("nvme")}}}}
		}
	}
	snapshot := func() *descheduling.Snapshot {
		return testSnapshot(labeledNodes(), testPod("a", "n1", required("ssd")), testPod("b", "n1", required("tape")), testPod("c", "n2", required("ssd")),
			testPod("d", "n1", preferred(1, 1)), testPod("e", "n2", preferred(1, 2)), testPod("f", "n2", preferred(2, 2)),
			testPod("g", "n1", func(p *descheduling.Pod) { p.Phase = model.Failed }, required("ssd")))
	}
	types := []AffinityType{PreferredAffinity, RequiredAffinity}
	for _, c := range []struct {
		types         []AffinityType
		want, planned string
	}{
		{types[1:], "a", "a b"}, // the planner checks whether a node is feasible
		{types[:1], "d e", "d e"},
		{types, "d e a", "d e a b"},
	} {
		if got := evict(t, snapshot(), &descheduling.Policy{}, &fakeMover{}, &RemovePodsViolatingNodeAffinity{Types: c.types}); got != c.want {
			t.Errorf("%v: evicted %q, want %q", c.types, got, c.want)
		}
		s := snapshot()
		m := &fakeMover{place: func(*descheduling.Candidate) *descheduling.Node { return s.Nodes[2] }}
		if got := evict(t, s, &descheduling.Policy{}, m, &RemovePodsViolatingNodeAffinity{Types: c.types}); got != c.planned {
			t.Errorf("%v: planned %q, want %q", c.types, got, c.planned)
		}
	}
}

func TestNodeAffinityGain(t *testing.T) {
	nodes := labeledNodes()
	p := testPod("p", "n1", func(p *descheduling.Pod) {
		p.Spec = &model.PodSpec{NodeSelector: model.NodeSelector{HasRequired: true, Required: []model.NodeSelectorTerm{nodeTerm("nvme")},
			Preferred: []model.PreferredSchedulingTerm{{Weight: 3, Term: nodeTerm("ssd")}, {Weight: 5, Term: nodeTerm("nvme")}}}}
	})
	var got string
	m := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node {
		for _, n := range nodes {
			g := c.Gain(n)
			got += fmt.Sprintf("%d>%d ", g.Before, g.After)
		}
		return nil
	}}
	evict(t, testSnapshot(nodes, p), &descheduling.Policy{}, m, &RemovePodsViolatingNodeAffinity{Types: []AffinityType{RequiredAffinity, PreferredAffinity}})
	if want := "1>1 1>1 1>0 5>5 5>2 5>0 "; got != want {
		t.Errorf("gains %q, want %q", got, want)
	}
}
