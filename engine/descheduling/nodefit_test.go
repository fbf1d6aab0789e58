package descheduling

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// TestNodeFit checks nodeFit. Each case changes one property of a pod on n1, or of n2, to which it
// may move.
func TestNodeFit(t *testing.T) {
	web := model.LabelsOf(map[string]string{"app": "web"})
	antiAffinity := model.PodSpec{AntiAffinity: []model.PodAffinityTerm{{TopologyKey: "host", Namespaces: []string{"default"}, Selector: labelSelector("app", "web")}}}
	taint := func(e model.Effect) func(*Node) {
		return func(n *Node) { n.Taints = []model.Taint{{Key: "k", Effect: e}} }
	}
	for _, c := range []struct {
		name string
		spec model.PodSpec
		node func(*Node)
		fits bool
	}{
		{"no constraints", model.PodSpec{}, nil, true},
		{"cordoned", model.PodSpec{}, func(n *Node) { n.Unschedulable = true }, false},
		{"selector", model.PodSpec{NodeSelector: model.NodeSelector{Labels: web}}, nil, false},
		{"selected", model.PodSpec{NodeSelector: model.NodeSelector{Labels: web}}, func(n *Node) { n.Labels = web }, true},
		{"affinity without terms", model.PodSpec{NodeSelector: model.NodeSelector{HasRequired: true}}, nil, false},
		{"NoSchedule", model.PodSpec{}, taint(model.NoSchedule), false},
		{"NoExecute", model.PodSpec{}, taint(model.NoExecute), false},
		{"PreferNoSchedule", model.PodSpec{}, taint(model.PreferNoSchedule), true},
		{"tolerated", model.PodSpec{Tolerations: []model.Toleration{{Op: model.TolExists}}}, taint(model.NoExecute), true},
		{"capacity for cpu", model.PodSpec{Requests: model.Resources{MilliCPU: 3000}}, nil, true},
		{"no capacity for cpu", model.PodSpec{Requests: model.Resources{MilliCPU: 3001}}, nil, false},
		{"no capacity for memory", model.PodSpec{Requests: model.Resources{Memory: 8<<30 + 1}}, nil, false},
		{"no capacity for storage", model.PodSpec{Requests: model.Resources{Ephemeral: 1}}, nil, false},
		{"unknown extended resource", model.PodSpec{Requests: model.Resources{Scalars: []model.Scalar{{Name: "gpu", Amount: 1}}}}, nil, false},
		{"devices in use", model.PodSpec{Requests: model.Resources{Scalars: []model.Scalar{{Name: "gpu", Amount: 2}}}}, func(n *Node) {
			n.Allocatable.Scalars = []model.Scalar{{Name: "gpu", Amount: 2}}
		}, false},
		{"maximum number of pods", model.PodSpec{}, func(n *Node) { n.Node.AllocatablePods = 2 }, true},
		{"at the maximum number of pods", model.PodSpec{}, func(n *Node) { n.Node.AllocatablePods = 1 }, false},
		{"anti-affinity to a pod on the node", antiAffinity, func(n *Node) { n.Labels = model.LabelsOf(map[string]string{"host": "2"}) }, false},
		{"anti-affinity with a topology key that the node lacks", antiAffinity, nil, true},
		{"pod affinity is ignored", model.PodSpec{Affinity: []model.PodAffinityTerm{{TopologyKey: "host"}}}, nil, true},
	} {
		nodes := numberedNodes(2)
		if c.node != nil {
			c.node(nodes[1])
		}
		p := testPod("p", "n1", func(p *Pod) { p.Spec = &c.spec })
		existing := testPod("q", "n2", func(p *Pod) {
			p.Labels, p.Spec = web, &model.PodSpec{Requests: model.Resources{MilliCPU: 1000, Scalars: []model.Scalar{{Name: "gpu", Amount: 1}}}}
		})
		finished := testPod("r", "n2", func(p *Pod) { p.Phase, p.Spec = model.Succeeded, existing.Spec })
		args := defaultArgs()
		args.NodeFit = true
		policy := &Policy{Profiles: []Profile{{Name: "p", Evictor: args}}}
		s := testSnapshot(nodes, p, existing, finished)
		if got := evict(t, s, policy, &fakeMover{}, namedPods{"p"}) == "p"; got != c.fits {
			t.Errorf("%s: fits %v, want %v", c.name, got, c.fits)
		}
		planner := &fakeMover{place: func(*Candidate) *Node { return nodes[1] }}
		if evict(t, s, policy, planner, namedPods{"p"}) != "p" {
			t.Errorf("%s: nodeFit prevents a plan", c.name)
		}
	}
}

// TestNodeFitNodes checks that nodeFit considers the nodes of the evictor's nodeSelector, not
// those of the policy, and that nodes that are not ready never fit.
func TestNodeFitNodes(t *testing.T) {
	ssd := model.LabelsOf(map[string]string{"disk": "ssd"})
	for _, c := range []struct {
		change func([]*Node)
		want   string
	}{
		{func([]*Node) {}, ""},
		{func(n []*Node) { n[0].Labels = ssd }, ""},
		{func(n []*Node) { n[2].Labels = ssd }, "p"},
		{func(n []*Node) { n[2].Labels, n[2].NotReady = ssd, true }, ""},
	} {
		nodes := numberedNodes(3)
		c.change(nodes)
		args := defaultArgs()
		args.NodeFit, args.NodeSelector = true, labelSelector("disk", "ssd")
		policy := &Policy{Profiles: []Profile{{Name: "p", Evictor: args}}}
		if got := evict(t, testSnapshot(nodes, testPod("p", "n1")), policy, &fakeMover{}, namedPods{}); got != c.want {
			t.Errorf("evicted %q, want %q", got, c.want)
		}
	}
}

// TestNamespaceSelector checks that the namespace's labels are required in both modes, even for
// pods with the evict annotation.
func TestNamespaceSelector(t *testing.T) {
	nodes := numberedNodes(2)
	evictAnyway := func(p *Pod) { p.Details.EvictAnyway = true }
	s := testSnapshot(nodes, testPod("p", "n1"), testPod("q", "n1", func(p *Pod) { p.Namespace = "other" }, evictAnyway))
	s.Namespaces["default"] = model.LabelsOf(map[string]string{"env": "prod"})
	args := defaultArgs()
	args.NamespaceSelector = labelSelector("env", "prod")
	for _, m := range []*fakeMover{{}, {place: func(*Candidate) *Node { return nodes[1] }}} {
		if got := evict(t, s, &Policy{Profiles: []Profile{{Name: "p", Evictor: args}}}, m, namedPods{}); got != "p" {
			t.Errorf("evicted %q, want %q", got, "p")
		}
	}
}

// TestNodeFitOwnNode checks that on its own node a pod's requests count as free, and that it does
// not conflict with itself.
func TestNodeFitOwnNode(t *testing.T) {
	web := model.LabelsOf(map[string]string{"app": "web", "host": "1"})
	nodes := numberedNodes(1)
	nodes[0].Node.AllocatablePods, nodes[0].Labels = 1, web
	p := testPod("p", "n1", func(p *Pod) {
		p.Labels = web
		p.Spec = &model.PodSpec{Requests: model.Resources{MilliCPU: 4000},
			AntiAffinity: []model.PodAffinityTerm{{TopologyKey: "host", Namespaces: []string{"default"}, Selector: labelSelector("app", "web")}}}
	})
	r := NewRound(testSnapshot(nodes, p), &Policy{}, &fakeMover{})
	if !r.FitsAnyNode(p, nodes) || r.FitsAnyOtherNode(p, nodes) {
		t.Errorf("fits any %v, another %v; want true, false", r.FitsAnyNode(p, nodes), r.FitsAnyOtherNode(p, nodes))
	}
}
