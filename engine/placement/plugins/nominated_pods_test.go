package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

func nominated(node string, priority int32) build.PodOption {
	return func(p *model.Pod) { p.NominatedNodeName, p.Spec.Priority = node, priority }
}

func TestNominatedPodsCountUnlessTheyHaveLowerPriority(t *testing.T) {
	const full = "a NodeResourcesFit (U): Insufficient cpu"
	for name, tc := range map[string]struct {
		existing, pod *model.Pod
		want          string
	}{
		"higher priority":               {build.Pod("x", nominated("a", 2), build.Requests(3000, 0)), build.Pod("p", build.Requests(2000, 0), nominated("", 1)), full},
		"equal priority":                {build.Pod("x", nominated("a", 1), build.Requests(3000, 0)), build.Pod("p", build.Requests(2000, 0), nominated("", 1)), full},
		"lower priority":                {build.Pod("x", nominated("a", 0), build.Requests(3000, 0)), build.Pod("p", build.Requests(2000, 0), nominated("", 1)), ""},
		"the pod does not count itself": {build.Pod("p", nominated("a", 1), build.Requests(3000, 0)), build.Pod("p", build.Requests(3000, 0), nominated("a", 1)), ""},
		"affinity to a nominated pod": {build.Pod("x", nominated("a", 1), build.App("db")), build.Pod("p", withAffinity(build.PodAffinityTerm(framework.HostnameKey, "db"))),
			"a" + noAffinity},
		"anti-affinity to a nominated pod": {build.Pod("x", nominated("a", 1), build.App("db")), build.Pod("p", withAntiAffinity(build.PodAffinityTerm(framework.HostnameKey, "db"))), "a" + antiAffinity},
		"anti-affinity of a nominated pod": {build.Pod("x", nominated("a", 1), withAntiAffinity(build.PodAffinityTerm(framework.HostnameKey, "web"))), build.Pod("p", build.App("web"), build.Spec(func(s *model.PodSpec) {
			s.AntiAffinity = []model.PodAffinityTerm{build.PodAffinityTerm(framework.HostnameKey, "none")}
		})), "a" + existingAntiAffinity},
		"host ports of a nominated pod": {build.Pod("x", nominated("a", 1), build.Spec(func(s *model.PodSpec) { s.Ports = []model.HostPort{{IP: plugins.AnyIP, Protocol: "TCP", Port: 80}} })),
			build.Pod("p", build.Spec(func(s *model.PodSpec) { s.Ports = []model.HostPort{{IP: plugins.AnyIP, Protocol: "TCP", Port: 80}} })),
			"a NodePorts (U): node(s) didn't have free ports for the requested pod ports"},
		"topology spread": {build.Pod("x", nominated("a", 1), build.App("web")), build.Pod("p", build.App("web"), spreads(overZones())), "a" + skewed},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(build.Node("a", build.Zone("z1")), tc.existing)
			if name == "topology spread" {
				s.UpsertNode(build.Node("b", build.Zone("z2")))
			}
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, tc.pod)), tc.want)
		})
	}
}
