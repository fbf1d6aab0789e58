package placement

import (
	"fmt"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

func scalar(name string, n int64) podOption {
	return spec(func(s *model.PodSpec) {
		s.Requests.Scalars = append(s.Requests.Scalars, model.Scalar{Name: name, Amount: n})
		s.Scoring.Scalars = s.Requests.Scalars
	})
}

func gpus(n int64) nodeOption {
	return func(m *model.Node) { m.Allocatable.Scalars = []model.Scalar{{Name: "example.com/gpu", Amount: n}} }
}

func TestNodeResourcesFit(t *testing.T) {
	crowded := func(n *model.Node) { n.AllocatablePods = 1 }
	ephemeral := spec(func(s *model.PodSpec) { s.Requests.Ephemeral = 1 })
	const gib = 1 << 30
	for name, tc := range map[string]struct {
		node nodeOption
		pod  podOption
		want string
	}{
		"what is left to the last unit fits":     {gpus(1), requests(3000, 6*gib), ""},
		"one unit more does not":                 {gpus(1), requests(3001, 0), "a NodeResourcesFit (U): Insufficient cpu"},
		"all that is short is named, in order":   {crowded, requests(3001, 7*gib), "a NodeResourcesFit (U): Too many pods, Insufficient cpu, Insufficient memory"},
		"above allocatable nobody can help":      {gpus(1), requests(4001, 7*gib), "a NodeResourcesFit (UAU): Insufficient cpu, Insufficient memory"},
		"all of the node is not above it":        {gpus(1), requests(4000, 0), "a NodeResourcesFit (U): Insufficient cpu"},
		"what the node has not is above it":      {gpus(0), scalar("example.com/gpu", 1), "a NodeResourcesFit (UAU): Insufficient example.com/gpu"},
		"a scalar of zero is not asked for":      {gpus(0), scalar("example.com/gpu", 0), ""},
		"ephemeral storage counts":               {gpus(0), ephemeral, "a NodeResourcesFit (UAU): Insufficient ephemeral-storage"},
		"a pod that asks nothing needs its slot": {crowded, requests(0, 0), "a NodeResourcesFit (U): Too many pods"},
		"scalars come last, by name": {gpus(0), func(p *model.Pod) { scalar("z.io/b", 1)(p); scalar("a.io/b", 1)(p) },
			"a NodeResourcesFit (UAU): Insufficient a.io/b, Insufficient z.io/b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(node("a", tc.node), pod("x", onNode("a"), requests(1000, 2*gib)))
			expect(t, "verdicts", verdicts(decide(t, s, pod("p", tc.pod))), tc.want)
		})
	}
	r := decide(t, newState(node("a"), pod("x", onNode("a"), requests(1000, 0))), pod("p", requests(3500, 0)))
	expect(t, "numbers", fmt.Sprintf("%+v", r.Nodes[0].Verdict.Reasons[0]), fmt.Sprintf("%+v",
		decision.Reason{Kind: decision.ReasonInsufficient, Subject: "cpu", Want: 3500, Used: 1000, Have: 4000}))
}

func TestIgnoredResourcesAreExtendedOnes(t *testing.T) {
	ignore := func(c *Config) {
		c.Fit.IgnoredResources, c.Fit.IgnoredResourceGroups = []string{"a.io/x", "hugepages-2Mi"}, []string{"b.io"}
	}
	want := func(names ...string) podOption {
		return func(p *model.Pod) {
			for _, n := range names {
				scalar(n, 1)(p)
			}
		}
	}
	expect(t, "by name and by domain", verdicts(decide(t, newState(node("a")), pod("p", want("a.io/x", "b.io/y")), ignore)), "")
	expect(t, "others are looked at", verdicts(decide(t, newState(node("a")), pod("p", want("a.io/y", "hugepages-2Mi")), ignore)),
		"a NodeResourcesFit (UAU): Insufficient a.io/y, Insufficient hugepages-2Mi")
}

func TestFitScore(t *testing.T) {
	const gib = 1 << 30
	strategy := func(s Strategy, rs ...ResourceWeight) func(*Config) {
		return func(c *Config) {
			c.Fit.Strategy, c.Fit.Resources = s, rs
			c.Fit.Shape = []ShapePoint{{0, 0}, {50, 10}, {100, 4}}
		}
	}
	cpu, memory, gpu := ResourceWeight{"cpu", 1}, ResourceWeight{"memory", 3}, ResourceWeight{"example.com/gpu", 2}
	// With the pod node a has 2000 of 4000 millicores and 2 of 8 GiB in use, node b 1000 and 1.
	s := newState(node("a", gpus(4)), node("b"), pod("x", onNode("a"), requests(1000, gib)))
	for name, tc := range map[string]struct {
		config func(*Config)
		pod    *model.Pod
		want   string
	}{
		"least: the mean of what is free":           {strategy(LeastAllocated, cpu, memory), pod("p", requests(1000, gib)), "a=68 b=84"},
		"most: the mean of what is used":            {strategy(MostAllocated, cpu, memory), pod("p", requests(1000, gib)), "a=31 b=15"},
		"ratio: read off the line":                  {strategy(RequestedToCapacityRatio, cpu), pod("p", requests(1000, gib)), "a=100 b=50"},
		"ratio: falling parts of the line":          {strategy(RequestedToCapacityRatio, cpu), pod("p", requests(2000, gib)), "a=70 b=100"},
		"ratio: what scores nothing does not weigh": {strategy(RequestedToCapacityRatio, cpu, memory), pod("p", requests(1000, 0)), "a=43 b=50"},
		"a scalar counts where there is some":       {strategy(LeastAllocated, cpu, gpu), pod("p", requests(1000, gib), scalar("example.com/gpu", 4)), "a=16"},
		"but not for pods that want none":           {strategy(LeastAllocated, cpu, gpu), pod("p", requests(1000, gib)), "a=50 b=75"},
		"without any resource to look at all are 0": {strategy(LeastAllocated, gpu), pod("p", requests(1000, gib)), "a=0 b=0"},
		"the pod counts as itself where it differs": {strategy(LeastAllocated, cpu), pod("p", requests(1000, gib), spec(func(s *model.PodSpec) { s.ScoringIncoming = &model.Resources{} })), "a=75 b=100"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "points", points(decide(t, s, tc.pod, tc.config), decision.NodeResourcesFit), tc.want)
		})
	}
}

func TestScoresCountDefaultsBeyondAllocatable(t *testing.T) {
	// Best-effort pods count in scores only, and may exceed what is there.
	greedy := spec(func(s *model.PodSpec) { s.Scoring = model.Resources{MilliCPU: 5000, Memory: 1} })
	for strategy, want := range map[Strategy]string{LeastAllocated: "a=0", MostAllocated: "a=100", RequestedToCapacityRatio: "a=30"} {
		r := decide(t, newState(node("a")), pod("p", greedy), func(c *Config) {
			c.Fit.Strategy, c.Fit.Resources, c.Fit.Shape = strategy, []ResourceWeight{{"cpu", 0}}, []ShapePoint{{0, 10}, {100, 3}}
		})
		expect(t, fmt.Sprint("strategy ", strategy), points(r, decision.NodeResourcesFit), want)
	}
}

func TestBalanceScoresTheImprovement(t *testing.T) {
	const gib = 1 << 30
	s := newState(node("a"), node("b"), pod("x", onNode("b"), requests(2000, 0)))
	for name, tc := range map[string]struct {
		pod  *model.Pod
		want string
	}{
		"in proportion to the node leaves it as it is": {pod("p", requests(2000, 4*gib)), "a=75 b=75"}, // b: 50 % apart before and after
		"cpu alone tips it":                            {pod("p", requests(2000, 0)), "a=62 b=62"},     // a: 100 to 75; b: 75 to 50
		"memory alone rights it":                       {pod("p", requests(0, 4*gib)), "a=62 b=87"},
		"asking for nothing of it is not scored":       {pod("p", scalar("example.com/x", 0)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, "points", points(decide(t, s, tc.pod), decision.NodeResourcesBalancedAllocation), tc.want)
		})
	}
	three := func(c *Config) { c.Balanced = []ResourceWeight{{"cpu", 1}, {"memory", 1}, {"example.com/gpu", 1}} }
	r := decide(t, newState(node("a", gpus(4))), pod("p", requests(4000, 8*gib), scalar("example.com/gpu", 1)), three)
	expect(t, "of three the standard deviation counts", points(r, decision.NodeResourcesBalancedAllocation), "a=57") // 1, 1, 1/4 deviate by 0.3535
}
