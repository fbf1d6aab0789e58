package placement

import (
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/testkit/build"
)

func TestAdmissionCheck(t *testing.T) {
	port := func(n int32) build.PodOption {
		return build.Spec(func(s *model.PodSpec) { s.Ports = []model.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: n}} })
	}
	requires := func(key, value string) build.PodOption {
		return build.Spec(func(s *model.PodSpec) { s.NodeSelector.Labels = []model.Label{{Key: key, Value: value}} })
	}
	scalar := func(name string, n int64) build.PodOption {
		return build.Spec(func(s *model.PodSpec) { s.Requests.Scalars = []model.Scalar{{Name: name, Amount: n}} })
	}
	onePod := func(n *model.Node) { n.AllocatablePods = 1 }
	for name, tc := range map[string]struct {
		node    *model.Node
		pod     *model.Pod
		want    string // reasons
		message string // within the first message
	}{
		"fits":                       {build.Node("n"), build.Pod("p", build.Requests(1000, 1<<30)), "", ""},
		"all insufficient resources": {build.Node("n", onePod), build.Pod("p", build.Requests(3600, 7<<30)), "OutOfpods OutOfcpu OutOfmemory", "Node didn't have enough resource: pods, requested: 1, used: 1, capacity: 1"},
		"resource amounts":           {build.Node("n"), build.Pod("p", build.Requests(3600, 0)), "OutOfcpu", "Node didn't have enough resource: cpu, requested: 3600, used: 500, capacity: 4000"},
		"unknown extended resource":  {build.Node("n"), build.Pod("p", scalar("example.com/x", 3)), "", ""},
		"missing huge pages":         {build.Node("n"), build.Pod("p", scalar("hugepages-2Mi", 3)), "OutOfhugepages-2Mi", ""},
		"missing label":              {build.Node("n"), build.Pod("p", requires("zone", "a")), "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		"host port in use":           {build.Node("n"), build.Pod("p", port(80)), "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"},
		"another port":               {build.Node("n"), build.Pod("p", port(81)), "", ""},
		"pod of another node":        {build.Node("n"), build.Pod("p", build.OnNode("m")), "NodeName", ""},
		"NoExecute taint":            {build.Node("n", build.Tainted("a", "b", model.NoExecute)), build.Pod("p"), "TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"},
		"NoSchedule taint":           {build.Node("n", build.Tainted("a", "b", model.NoSchedule)), build.Pod("p"), "", ""},
		"mirror pod":                 {build.Node("n", build.Tainted("a", "b", model.NoExecute)), build.Pod("p", func(p *model.Pod) { p.Mirror = true }), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(tc.node, build.Pod("existing", build.OnNode("n"), build.Requests(500, 2<<30), port(80)))
			id, _ := s.NodeID("n")
			var got []string
			results := AdmissionCheck(s.Node(id), tc.pod)
			for _, d := range results {
				got = append(got, d.Reason)
			}
			if strings.Join(got, " ") != tc.want {
				t.Fatalf("reasons %q, want %q", got, tc.want)
			}
			if tc.message != "" && results[0].Message != tc.message {
				t.Errorf("message %q, want %q", results[0].Message, tc.message)
			}
		})
	}
}
