package placement

import (
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func TestNodeUnschedulable(t *testing.T) {
	cordoned := func(n *model.Node) { n.Unschedulable = true }
	s := newState(node("a", cordoned), node("b"))
	for name, tc := range map[string]struct {
		tolerations []model.Toleration
		want        string
	}{
		"a cordoned node is refused": {nil, "a NodeUnschedulable (UAU): node(s) were unschedulable"},
		"its taint can be tolerated": {[]model.Toleration{{Key: "node.kubernetes.io/unschedulable", Op: model.TolExists}}, ""},
		"tolerating its other effect does not help": {[]model.Toleration{{Op: model.TolExists, Effect: model.NoExecute}},
			"a NodeUnschedulable (UAU): node(s) were unschedulable"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "verdicts", verdicts(decide(t, s, pod("p", spec(func(s *model.PodSpec) { s.Tolerations = tc.tolerations })))), tc.want)
		})
	}
}

func TestNodeName(t *testing.T) {
	s := newState(node("a"), node("b"))
	expect(t, "verdicts", verdicts(decide(t, s, pod("p", onNode("b")))), "a NodeName (UAU): node(s) didn't match the requested node name")
	expect(t, "verdicts", verdicts(decide(t, s, pod("p", onNode("c")))),
		"a NodeName (UAU): node(s) didn't match the requested node name; b NodeName (UAU): node(s) didn't match the requested node name")
}

func TestNodePorts(t *testing.T) {
	port := func(ip, protocol string, number int32) podOption {
		return spec(func(s *model.PodSpec) {
			s.Ports = append(s.Ports, model.HostPort{IP: ip, Protocol: protocol, Port: number})
		})
	}
	const taken = "a NodePorts (U): node(s) didn't have free ports for the requested pod ports"
	s := newState(node("a"), pod("x", onNode("a"), port("127.0.0.1", "TCP", 80), port(anyIP, "UDP", 53)))
	for name, tc := range map[string]struct {
		port podOption
		want string
	}{
		"same address, protocol and number clash": {port("127.0.0.1", "TCP", 80), taken},
		"all addresses clash with one":            {port(anyIP, "TCP", 80), taken},
		"one address clashes with all":            {port("10.0.0.1", "UDP", 53), taken},
		"another address is free":                 {port("10.0.0.1", "TCP", 80), ""},
		"another protocol is free":                {port("127.0.0.1", "UDP", 80), ""},
		"another number is free":                  {port(anyIP, "TCP", 81), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := decide(t, s, pod("p", tc.port))
			expect(t, "verdicts", verdicts(r), tc.want)
			if tc.want != "" && r.Nodes[0].Verdict.Reasons[0].Object != "default/x" {
				t.Errorf("the pod in the way is %q, want default/x", r.Nodes[0].Verdict.Reasons[0].Object)
			}
		})
	}
}

func TestNodeDeclaredFeatures(t *testing.T) {
	declares := func(features ...string) nodeOption { return func(n *model.Node) { n.Features = features } }
	s := newState(node("a", declares("x", "y")), node("b", declares("x")), node("c"))
	p := pod("p", spec(func(s *model.PodSpec) { s.Features = []string{"x", "y"} }))
	const why = " NodeDeclaredFeatures (UAU): node(s) didn't match Pod's required features"
	r := decide(t, s, p)
	expect(t, "verdicts", verdicts(r), "b"+why+"; c"+why)
	expect(t, "missing on b", r.Nodes[1].Verdict.Reasons[0].Subject, "y")
}

func TestImageLocality(t *testing.T) {
	const mib = 1 << 20
	has := func(name string, size int64) nodeOption {
		return func(n *model.Node) { n.Images = append(n.Images, model.Image{Names: []string{name}, Size: size}) }
	}
	uses := func(containers int, images ...string) podOption {
		return spec(func(s *model.PodSpec) { s.Images, s.ImageContainers = images, containers })
	}
	s := newState(node("a", has("big", 1000*mib), has("small", 20*mib)), node("b", has("big", 1000*mib)), node("c"), node("d"))
	for name, tc := range map[string]struct {
		pod  podOption
		want string
	}{
		"an image counts by how many nodes have it":  {uses(1, "big"), "a=48 b=48 c=0 d=0"}, // 500 of 23..1000
		"below the floor an image is worth nothing":  {uses(1, "small"), "a=0 b=0 c=0 d=0"}, // 20 MiB
		"more containers raise the ceiling":          {uses(2, "big"), "a=24 b=24 c=0 d=0"}, // 500 of 23..2000
		"an image used twice counts twice":           {uses(1, "big", "big"), "a=100 b=100 c=0 d=0"},
		"an image volume does not raise the ceiling": {uses(1, "small", "big"), "a=49 b=48 c=0 d=0"}, // 505
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "points", points(decide(t, s, pod("p", tc.pod)), decision.ImageLocality), tc.want)
		})
	}
}
