package plugins_test

import (
	"fmt"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

func scalar(name string, n int64) build.PodOption {
	return build.Spec(func(s *model.PodSpec) {
		s.Requests.Scalars = append(s.Requests.Scalars, model.Scalar{Name: name, Amount: n})
		s.Scoring.Scalars = s.Requests.Scalars
	})
}

func gpus(n int64) build.NodeOption {
	return func(m *model.Node) { m.Allocatable.Scalars = []model.Scalar{{Name: "example.com/gpu", Amount: n}} }
}

func TestNodeResourcesFit(t *testing.T) {
	onePod := func(n *model.Node) { n.AllocatablePods = 1 }
	ephemeral := build.Spec(func(s *model.PodSpec) { s.Requests.Ephemeral = 1 })
	const gib = 1 << 30
	for name, tc := range map[string]struct {
		node build.NodeOption
		pod  build.PodOption
		want string
	}{
		"request equal to the free amount":                {gpus(1), build.Requests(3000, 6*gib), ""},
		"request above the free amount":                   {gpus(1), build.Requests(3001, 0), "a NodeResourcesFit (U): Insufficient cpu"},
		"all insufficient resources are listed, in order": {onePod, build.Requests(3001, 7*gib), "a NodeResourcesFit (U): Too many pods, Insufficient cpu, Insufficient memory"},
		"a request above allocatable is unresolvable":     {gpus(1), build.Requests(4001, 7*gib), "a NodeResourcesFit (UAU): Insufficient cpu, Insufficient memory"},
		"request equal to allocatable":                    {gpus(1), build.Requests(4000, 0), "a NodeResourcesFit (U): Insufficient cpu"},
		"resource that the node lacks":                    {gpus(0), scalar("example.com/gpu", 1), "a NodeResourcesFit (UAU): Insufficient example.com/gpu"},
		"scalar request of 0":                             {gpus(0), scalar("example.com/gpu", 0), ""},
		"ephemeral storage counts":                        {gpus(0), ephemeral, "a NodeResourcesFit (UAU): Insufficient ephemeral-storage"},
		"pod without requests needs a pod slot":           {onePod, build.Requests(0, 0), "a NodeResourcesFit (U): Too many pods"},
		"scalars come last, by name": {gpus(0), func(p *model.Pod) { scalar("z.io/b", 1)(p); scalar("a.io/b", 1)(p) },
			"a NodeResourcesFit (UAU): Insufficient a.io/b, Insufficient z.io/b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := build.NewState(build.Node("a", tc.node), build.Pod("x", build.OnNode("a"), build.Requests(1000, 2*gib)))
			build.Expect(t, "verdicts", build.Verdicts(decide(t, s, build.Pod("p", tc.pod))), tc.want)
		})
	}
	r := decide(t, build.NewState(build.Node("a"), build.Pod("x", build.OnNode("a"), build.Requests(1000, 0))), build.Pod("p", build.Requests(3500, 0)))
	build.Expect(t, "numbers", fmt.Sprintf("%+v", r.Nodes[0].Verdict.Reasons[0]), fmt.Sprintf("%+v",
		decision.Reason{Kind: decision.ReasonInsufficient, Subject: "cpu", Want: 3500, Used: 1000, Have: 4000}))
}

func TestOnlyExtendedResourcesAreIgnored(t *testing.T) {
	ignore := func(c *framework.Config) {
		c.Fit.IgnoredResources, c.Fit.IgnoredResourceGroups = []string{"a.io/x", "hugepages-2Mi"}, []string{"b.io"}
	}
	requests := func(names ...string) build.PodOption {
		return func(p *model.Pod) {
			for _, n := range names {
				scalar(n, 1)(p)
			}
		}
	}
	build.Expect(t, "ignored by name and by domain", build.Verdicts(decide(t, build.NewState(build.Node("a")), build.Pod("p", requests("a.io/x", "b.io/y")), ignore)), "")
	build.Expect(t, "other resources are checked", build.Verdicts(decide(t, build.NewState(build.Node("a")), build.Pod("p", requests("a.io/y", "hugepages-2Mi")), ignore)),
		"a NodeResourcesFit (UAU): Insufficient a.io/y, Insufficient hugepages-2Mi")
}

func TestFitScore(t *testing.T) {
	const gib = 1 << 30
	strategy := func(s framework.Strategy, rs ...framework.ResourceWeight) func(*framework.Config) {
		return func(c *framework.Config) {
			c.Fit.Strategy, c.Fit.Resources = s, rs
			c.Fit.Shape = []framework.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 50, Score: 10}, {Utilization: 100, Score: 4}}
		}
	}
	cpu, memory, gpu := framework.ResourceWeight{Name: "cpu", Weight: 1}, framework.ResourceWeight{Name: "memory", Weight: 3}, framework.ResourceWeight{Name: "example.com/gpu", Weight: 2}
	// With the pod node a has 2000 of 4000 millicores and 2 of 8 GiB in use, node b 1000 and 1.
	s := build.NewState(build.Node("a", gpus(4)), build.Node("b"), build.Pod("x", build.OnNode("a"), build.Requests(1000, gib)))
	for name, tc := range map[string]struct {
		config func(*framework.Config)
		pod    *model.Pod
		want   string
	}{
		"LeastAllocated: mean of the free shares":                            {strategy(framework.LeastAllocated, cpu, memory), build.Pod("p", build.Requests(1000, gib)), "a=68 b=84"},
		"MostAllocated: mean of the used shares":                             {strategy(framework.MostAllocated, cpu, memory), build.Pod("p", build.Requests(1000, gib)), "a=31 b=15"},
		"RequestedToCapacityRatio: interpolated":                             {strategy(framework.RequestedToCapacityRatio, cpu), build.Pod("p", build.Requests(1000, gib)), "a=100 b=50"},
		"RequestedToCapacityRatio: falling segments":                         {strategy(framework.RequestedToCapacityRatio, cpu), build.Pod("p", build.Requests(2000, gib)), "a=70 b=100"},
		"RequestedToCapacityRatio: resources without a score have no weight": {strategy(framework.RequestedToCapacityRatio, cpu, memory), build.Pod("p", build.Requests(1000, 0)), "a=43 b=50"},
		"a scalar resource counts on nodes that have it":                     {strategy(framework.LeastAllocated, cpu, gpu), build.Pod("p", build.Requests(1000, gib), scalar("example.com/gpu", 4)), "a=16"},
		"a scalar resource does not count for pods without a request":        {strategy(framework.LeastAllocated, cpu, gpu), build.Pod("p", build.Requests(1000, gib)), "a=50 b=75"},
		"no resources: score 0":                                              {strategy(framework.LeastAllocated, gpu), build.Pod("p", build.Requests(1000, gib)), "a=0 b=0"},
		"ScoringIncoming replaces Scoring":                                   {strategy(framework.LeastAllocated, cpu), build.Pod("p", build.Requests(1000, gib), build.Spec(func(s *model.PodSpec) { s.ScoringIncoming = &model.Resources{} })), "a=75 b=100"},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "points", build.Points(decide(t, s, tc.pod, tc.config), decision.NodeResourcesFit), tc.want)
		})
	}
}

func TestScoresCountDefaultsBeyondAllocatable(t *testing.T) {
	// Best-effort pods count in scores only and may exceed the allocatable amount.
	bestEffort := build.Spec(func(s *model.PodSpec) { s.Scoring = model.Resources{MilliCPU: 5000, Memory: 1} })
	for strategy, want := range map[framework.Strategy]string{framework.LeastAllocated: "a=0", framework.MostAllocated: "a=100", framework.RequestedToCapacityRatio: "a=30"} {
		r := decide(t, build.NewState(build.Node("a")), build.Pod("p", bestEffort), func(c *framework.Config) {
			c.Fit.Strategy, c.Fit.Resources, c.Fit.Shape = strategy, []framework.ResourceWeight{{Name: "cpu", Weight: 0}}, []framework.ShapePoint{{Utilization: 0, Score: 10}, {Utilization: 100, Score: 3}}
		})
		build.Expect(t, fmt.Sprint("strategy ", strategy), build.Points(r, decision.NodeResourcesFit), want)
	}
}

func TestBalancedAllocationScoresImprovement(t *testing.T) {
	const gib = 1 << 30
	s := build.NewState(build.Node("a"), build.Node("b"), build.Pod("x", build.OnNode("b"), build.Requests(2000, 0)))
	for name, tc := range map[string]struct {
		pod  *model.Pod
		want string
	}{
		"request in proportion to the node": {build.Pod("p", build.Requests(2000, 4*gib)), "a=75 b=75"}, // b: 50 % difference before and after
		"cpu only":                          {build.Pod("p", build.Requests(2000, 0)), "a=62 b=62"},     // a: 100 to 75; b: 75 to 50
		"memory only":                       {build.Pod("p", build.Requests(0, 4*gib)), "a=62 b=87"},
		"no request of the resource":        {build.Pod("p", scalar("example.com/x", 0)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			build.Expect(t, "points", build.Points(decide(t, s, tc.pod), decision.NodeResourcesBalancedAllocation), tc.want)
		})
	}
	three := func(c *framework.Config) {
		c.Balanced = []framework.ResourceWeight{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}, {Name: "example.com/gpu", Weight: 1}}
	}
	r := decide(t, build.NewState(build.Node("a", gpus(4))), build.Pod("p", build.Requests(4000, 8*gib), scalar("example.com/gpu", 1)), three)
	// 1, 1 and 1/4 deviate by 0.3535.
	build.Expect(t, "three resources: standard deviation", build.Points(r, decision.NodeResourcesBalancedAllocation), "a=57")
}
