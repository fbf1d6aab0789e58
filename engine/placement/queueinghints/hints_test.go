package queueinghints

import (
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

var (
	byFit              = decision.PluginSet(0).With(decision.NodeResourcesFit)
	byTaint            = decision.PluginSet(0).With(decision.TaintToleration)
	byNodeAffinity     = decision.PluginSet(0).With(decision.NodeAffinity)
	bySpread           = decision.PluginSet(0).With(decision.PodTopologySpread)
	byInterPodAffinity = decision.PluginSet(0).With(decision.InterPodAffinity)
)

// pendingPodHints returns a cluster and the hints of an unschedulable pod in it. The cluster
// has two nodes: n1 with one CPU, of which 800m are used, 300m of them by a pod of lower
// priority, and n2, which is tainted.
func pendingPodHints(t *testing.T, change func(*model.PodSpec)) (*cluster.State, *Hints) {
	t.Helper()
	c := framework.DefaultConfig()
	p, err := framework.NewProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	s := cluster.New()
	oneCPU := model.Resources{MilliCPU: 1000}
	s.UpsertNode(&model.Node{Name: "n1", AllocatablePods: 10, Allocatable: oneCPU, Labels: model.Labels{{Key: "disk", Value: "hdd"}}})
	s.UpsertNode(&model.Node{Name: "n2", AllocatablePods: 10, Allocatable: oneCPU, Taints: []model.Taint{{Key: "t", Effect: model.NoSchedule}}})
	s.UpsertPod(runningPod("n1", "low", 300, -1))
	s.UpsertPod(runningPod("n1", "high", 500, 9))
	spec := &model.PodSpec{SchedulerName: c.Name, Requests: model.Resources{MilliCPU: 600}, NeverPreempts: true}
	change(spec)
	_, hints := NewProvider(s, p).Hints(&model.Pod{Namespace: "x", Name: "w", UID: "w", Spec: spec, Labels: model.Labels{{Key: "app", Value: "web"}}})
	return s, hints
}

func runningPod(node, name string, cpu int64, priority int32) *model.Pod {
	return &model.Pod{Namespace: "x", Name: name, UID: name, NodeName: node, Labels: model.Labels{{Key: "app", Value: name}},
		Spec: &model.PodSpec{Priority: priority, Requests: model.Resources{MilliCPU: cpu}}}
}

// TestQueueingHints checks that events which cannot help are skipped. The fuzz test of
// engine/scheduling checks that no useful event is skipped.
func TestQueueingHints(t *testing.T) {
	unchanged := func(*model.PodSpec) {}
	preempts := func(s *model.PodSpec) { s.NeverPreempts = false }
	ssd := func(s *model.PodSpec) { s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: "ssd"}} }
	spread := func(s *model.PodSpec) {
		s.Spread = []model.SpreadConstraint{{TopologyKey: "disk", MaxSkew: 1, MinDomains: 1, Hard: true, Selector: build.Selector("app", model.In, "web")}}
	}
	antiAffinity := func(s *model.PodSpec) {
		s.AntiAffinity = []model.PodAffinityTerm{{TopologyKey: "disk", Namespaces: []string{"x"}, Selector: build.Selector("app", model.In, "db")}}
	}
	podRemoved := func(name string, cpu int64, events decision.ClusterEvents) decision.Delta {
		return decision.Delta{Events: events, Old: runningPod("n1", name, cpu, 0)}
	}
	node := func(name string, cpu int64, taints ...model.Taint) *model.Node {
		return &model.Node{Name: name, AllocatablePods: 10, Allocatable: model.Resources{MilliCPU: cpu}, Taints: taints}
	}
	tainted := model.Taint{Key: "t", Effect: model.NoSchedule}
	for _, c := range []struct {
		name       string
		spec       func(*model.PodSpec)
		rejectedBy decision.PluginSet
		apply      func(*cluster.State)
		delta      decision.Delta
		want       decision.QueueingHint
		added      decision.PluginSet
	}{
		{"too little is freed", unchanged, byFit, nil, podRemoved("small", 100, decision.PodRemoved), decision.QueueSkip, byFit},
		{"enough is freed", unchanged, byFit, func(s *cluster.State) { s.RemovePod("high") }, podRemoved("high", 500, decision.PodRemoved), decision.QueueForNode, 0},
		{"fits after preempting the pod of lower priority", preempts, byFit, func(s *cluster.State) { s.UpsertPod(runningPod("n1", "high", 400, 9)) },
			podRemoved("high", 100, decision.PodRemoved), decision.QueueForNode, 0},
		{"small node added", unchanged, byTaint, func(s *cluster.State) { s.UpsertNode(node("n3", 100)) },
			decision.Delta{Events: decision.NodeAdded, New: node("n3", 100)}, decision.QueueSkip, byFit},
		{"tainted node added", unchanged, byFit, func(s *cluster.State) { s.UpsertNode(node("n3", 900, tainted)) },
			decision.Delta{Events: decision.NodeAdded, New: node("n3", 900, tainted)}, decision.QueueSkip, byTaint},
		{"fitting node added", unchanged, byFit, func(s *cluster.State) { s.UpsertNode(node("n3", 900)) },
			decision.Delta{Events: decision.NodeAdded, New: node("n3", 900)}, decision.QueueForNode, 0},
		{"labels of a full node changed", ssd, byNodeAffinity, nil, decision.Delta{Events: decision.NodeLabelsChanged, Old: node("n1", 1000), New: node("n1", 1000)}, decision.QueueSkip, byFit},
		{"a pod that is not counted", spread, bySpread, nil, podRemoved("db", 100, decision.PodRemoved), decision.QueueSkip, 0},
		{"a pod that is counted", spread, bySpread, nil, podRemoved("web", 100, decision.PodTerminating), decision.QueueForAnyNode, 0},
		{"a pod without anti-affinity", antiAffinity, byInterPodAffinity, nil, podRemoved("web", 100, decision.PodRemoved), decision.QueueSkip, 0},
		{"a pod that anti-affinity excluded", antiAffinity, byInterPodAffinity, nil, podRemoved("db", 100, decision.PodRemoved), decision.QueueForAnyNode, 0},
		{"a spread group, for a pod with spread constraints", spread, bySpread, nil,
			decision.Delta{Events: decision.SpreadGroupChanged, New: &model.SpreadGroup{Kind: "Service", Namespace: "x"}}, decision.QueueSkip, 0},
	} {
		s, hints := pendingPodHints(t, c.spec)
		if c.apply != nil {
			c.apply(s)
		}
		if got, _, added := hints.Hint(c.rejectedBy, &c.delta); got != c.want || added != c.added {
			t.Errorf("%s: hint %d, additional plugins %b; want %d, %b", c.name, got, added, c.want, c.added)
		}
	}
}
