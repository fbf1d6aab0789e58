package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

func TestNodeUnschedulable(t *testing.T) {
	cordoned := func(n *model.Node) { n.Unschedulable = true }
	s := build.NewState(build.Node("a", cordoned), build.Node("b"))
	for name, tc := range map[string]struct {
		tolerations []model.Toleration
		want        string
	}{
		"a cordoned node is rejected": {nil, "a NodeUnschedulable (UAU): node(s) were unschedulable"},
		"its taint can be tolerated":  {[]model.Toleration{{Key: "node.kubernetes.io/unschedulable", Op: model.TolExists}}, ""},
		"tolerating its other effect does not help": {[]model.Toleration{{Op: model.TolExists, Effect: model.NoExecute}},
			"a NodeUnschedulable (UAU): node(s) were unschedulable"},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, build.Pod("p", build.Spec(func(s *model.PodSpec) { s.Tolerations = tc.tolerations })))), tc.want)
		})
	}
}

func TestNodeName(t *testing.T) {
	s := build.NewState(build.Node("a"), build.Node("b"))
	build.Expect(t, "existing node", build.Verdicts(decide(t, s, build.Pod("p", build.OnNode("b")))), "a NodeName (UAU): node(s) didn't match the requested node name")
	build.Expect(t, "missing node", build.Verdicts(decide(t, s, build.Pod("p", build.OnNode("c")))),
		"a NodeName (UAU): node(s) didn't match the requested node name; b NodeName (UAU): node(s) didn't match the requested node name")
}

func TestNodePorts(t *testing.T) {
	port := func(ip, protocol string, number int32) build.PodOption {
		return build.Spec(func(s *model.PodSpec) {
			s.Ports = append(s.Ports, model.HostPort{IP: ip, Protocol: protocol, Port: number})
		})
	}
	const conflict = "a NodePorts (U): node(s) didn't have free ports for the requested pod ports"
	s := build.NewState(build.Node("a"), build.Pod("x", build.OnNode("a"), port("127.0.0.1", "TCP", 80), port(plugins.AnyIP, "UDP", 53)))
	for name, tc := range map[string]struct {
		port build.PodOption
		want string
	}{
		"same address, protocol and number conflict": {port("127.0.0.1", "TCP", 80), conflict},
		"0.0.0.0 conflicts with an address":          {port(plugins.AnyIP, "TCP", 80), conflict},
		"an address conflicts with 0.0.0.0":          {port("10.0.0.1", "UDP", 53), conflict},
		"another address is free":                    {port("10.0.0.1", "TCP", 80), ""},
		"another protocol is free":                   {port("127.0.0.1", "UDP", 80), ""},
		"another number is free":                     {port(plugins.AnyIP, "TCP", 81), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, s, build.Pod("p", tc.port))
			build.Expect(t, "verdicts", build.Verdicts(r), tc.want)
			if tc.want != "" && r.Nodes[0].Verdict.Reasons[0].Object != "default/x" {
				t.Errorf("the conflicting pod is %q, want default/x", r.Nodes[0].Verdict.Reasons[0].Object)
			}
		})
	}
}

func TestNodeDeclaredFeatures(t *testing.T) {
	declares := func(features ...string) build.NodeOption { return func(n *model.Node) { n.Features = features } }
	s := build.NewState(build.Node("a", declares("x", "y")), build.Node("b", declares("x")), build.Node("c"))
	p := build.Pod("p", build.Spec(func(s *model.PodSpec) { s.Features = []string{"x", "y"} }))
	const reason = " NodeDeclaredFeatures (UAU): node(s) didn't match Pod's required features"
	r := decide(t, s, p)
	build.Expect(t, "verdicts", build.Verdicts(r), "b"+reason+"; c"+reason)
	build.Expect(t, "missing on b", r.Nodes[1].Verdict.Reasons[0].Subject, "y")
}

func TestImageLocality(t *testing.T) {
	const mib = 1 << 20
	withImage := func(name string, size int64) build.NodeOption {
		return func(n *model.Node) { n.Images = append(n.Images, model.Image{Names: []string{name}, Size: size}) }
	}
	podWithImages := func(containers int, images ...string) build.PodOption {
		return build.Spec(func(s *model.PodSpec) { s.Images, s.ImageContainers = images, containers })
	}
	s := build.NewState(build.Node("a", withImage("big", 1000*mib), withImage("small", 20*mib)), build.Node("b", withImage("big", 1000*mib)), build.Node("c"), build.Node("d"))
	for name, tc := range map[string]struct {
		pod  build.PodOption
		want string
	}{
		"image score by number of nodes":             {podWithImages(1, "big"), "a=48 b=48 c=0 d=0"}, // 500 of 23..1000
		"image below the minimum size":               {podWithImages(1, "small"), "a=0 b=0 c=0 d=0"}, // 20 MiB
		"more containers raise the ceiling":          {podWithImages(2, "big"), "a=24 b=24 c=0 d=0"}, // 500 of 23..2000
		"an image used twice counts twice":           {podWithImages(1, "big", "big"), "a=100 b=100 c=0 d=0"},
		"an image volume does not raise the ceiling": {podWithImages(1, "small", "big"), "a=49 b=48 c=0 d=0"}, // 505
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "points", build.Points(decide(t, s, build.Pod("p", tc.pod)), decision.ImageLocality), tc.want)
		})
	}
}
