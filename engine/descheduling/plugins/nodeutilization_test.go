package plugins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// cpuRequest sets a pod's cpu request in cores; nodes have four.
func cpuRequest(cores float64) func(*descheduling.Pod) {
	return func(p *descheduling.Pod) {
		p.Spec = &model.PodSpec{Requests: model.Resources{MilliCPU: int64(cores * 1000)}}
	}
}

func percents(values ...float64) (out Thresholds) {
	for i, name := range []string{"cpu", "memory", "pods"}[:len(values)] {
		out = append(out, Threshold{name, values[i]})
	}
	return out
}

func intPtr(n int) *int { return &n }

// TestLowNodeUtilization checks which nodes are over- and underutilized, and when evictions stop.
func TestLowNodeUtilization(t *testing.T) {
	from, to := percents(20), percents(50)
	for name, c := range map[string]struct {
		s     LowNodeUtilization
		nodes func([]*descheduling.Node)
		want  string
	}{
		"evicts until the target is reached": {s: LowNodeUtilization{Thresholds: from, Targets: to}, want: "a b"},
		"none underutilized":                 {s: LowNodeUtilization{Thresholds: percents(10), Targets: to}},
		"none overutilized":                  {s: LowNodeUtilization{Thresholds: from, Targets: percents(100)}},
		"usage equal to the threshold":       {s: LowNodeUtilization{Thresholds: percents(12.5), Targets: to}, want: "a b"},
		"not more than numberOfNodes":        {s: LowNodeUtilization{Thresholds: from, Targets: to, NumberOfNodes: 1}},
		"at most one per node":               {s: LowNodeUtilization{Thresholds: from, Targets: to, PerNode: intPtr(1)}, want: "a"},
		"excluded namespace":                 {s: LowNodeUtilization{Thresholds: from, Targets: to, ExcludeNamespaces: []string{"default"}}},
		"cordoned":                           {s: LowNodeUtilization{Thresholds: from, Targets: to}, nodes: func(n []*descheduling.Node) { n[2].Unschedulable = true }},
		"taints that are not tolerated":      {s: LowNodeUtilization{Thresholds: from, Targets: to}, nodes: func(n []*descheduling.Node) { n[2].Taints = []model.Taint{{Key: "k"}} }},
		"underutilized nodes are full":       {s: LowNodeUtilization{Thresholds: percents(20), Targets: percents(25)}, want: "a"},
		"around the average of 54 %":         {s: LowNodeUtilization{Thresholds: percents(40), Targets: percents(20), Deviation: true}, want: "a b"},
		"pods":                               {s: LowNodeUtilization{Thresholds: Thresholds{{"pods", 1}}, Targets: Thresholds{{"pods", 3}}}, want: "a"},
		"metrics are missing":                {s: LowNodeUtilization{Thresholds: from, Targets: to, UseMetrics: true}},
	} {
		nodes := numberedNodes(3)
		if c.nodes != nil {
			c.nodes(nodes)
		}
		s := testSnapshot(nodes, testPod("a", "n1", cpuRequest(1)), testPod("b", "n1", cpuRequest(1)), testPod("c", "n1", cpuRequest(1)), testPod("d", "n1", cpuRequest(1)),
			testPod("e", "n2", cpuRequest(2)), testPod("f", "n3", cpuRequest(0.5)))
		if got := evict(t, s, &descheduling.Policy{}, &fakeMover{}, &c.s); got != c.want {
			t.Errorf("%s: evicted %q, want %q", name, got, c.want)
		}
	}
}

// TestLowNodeUtilizationMeasured checks that measured usage replaces requests, and that nodes and
// pods without metrics are ignored.
func TestLowNodeUtilizationMeasured(t *testing.T) {
	core := model.Resources{MilliCPU: 1000}
	s := testSnapshot(numberedNodes(4), testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n1"), testPod("d", "n4", cpuRequest(4)))
	s.Usage = &descheduling.Usage{Nodes: map[string]model.Resources{"n1": {MilliCPU: 3500}, "n2": {}, "n3": {MilliCPU: 2000}},
		Pods: map[string]model.Resources{"uid-b": core, "uid-c": core, "uid-d": core}}
	l := &LowNodeUtilization{Thresholds: percents(20), Targets: percents(50), UseMetrics: true}
	if got := evict(t, s, &descheduling.Policy{}, &fakeMover{}, l); got != "b c" {
		t.Errorf("evicted %q, want b c", got)
	}
}

func TestHighNodeUtilization(t *testing.T) {
	for name, c := range map[string]struct {
		s      HighNodeUtilization
		change func(*descheduling.Snapshot)
		want   string
	}{
		"the emptiest node first":     {s: HighNodeUtilization{Thresholds: percents(30)}, want: "c d b"},
		"only pods with requests":     {s: HighNodeUtilization{Thresholds: percents(30), OnlyThresholdingResources: true}, want: "c b"},
		"not more than numberOfNodes": {s: HighNodeUtilization{Thresholds: percents(30), NumberOfNodes: 2}},
		"all nodes are below":         {s: HighNodeUtilization{Thresholds: percents(100)}},
		"excluded namespace":          {s: HighNodeUtilization{Thresholds: percents(30), ExcludeNamespaces: []string{"default"}}},
		"no destination":              {s: HighNodeUtilization{Thresholds: percents(30)}, change: func(s *descheduling.Snapshot) { s.Nodes[0].Unschedulable = true }},
	} {
		s := testSnapshot(numberedNodes(3), testPod("a", "n1", cpuRequest(2)), testPod("b", "n2", cpuRequest(1)), testPod("c", "n3", cpuRequest(0.5)), testPod("d", "n3"))
		if c.change != nil {
			c.change(s)
		}
		if got := evict(t, s, &descheduling.Policy{}, &fakeMover{}, &c.s); got != c.want {
			t.Errorf("%s: evicted %q, want %q", name, got, c.want)
		}
	}
}

// TestHighNodeUtilizationEmptiesNodeFullyOrNotAtAll checks that a plan empties a node completely
// or not at all, and does not empty the nodes that receive pods.
func TestHighNodeUtilizationEmptiesNodeFullyOrNotAtAll(t *testing.T) {
	localStorage := func(p *descheduling.Pod) { p.Details.LocalStorage = true }
	daemon := func(p *descheduling.Pod) { p.Details.Owners = []model.Owner{{Kind: "DaemonSet"}} }
	for name, c := range map[string]struct {
		pods   []*descheduling.Pod
		refuse string
		want   string
	}{
		"all are evicted":               {pods: []*descheduling.Pod{testPod("b", "n2"), testPod("c", "n2")}, want: "b c"},
		"one eviction is refused":       {pods: []*descheduling.Pod{testPod("b", "n2"), testPod("c", "n2")}, refuse: "c"},
		"one pod is protected":          {pods: []*descheduling.Pod{testPod("b", "n2"), testPod("c", "n2", localStorage)}},
		"DaemonSet pods do not count":   {pods: []*descheduling.Pod{testPod("b", "n2"), testPod("c", "n2", daemon)}, want: "b"},
		"terminating pods do not count": {pods: []*descheduling.Pod{testPod("b", "n2"), testPod("c", "n2", func(p *descheduling.Pod) { p.Deleting = true })}, want: "b"},
	} {
		nodes := numberedNodes(3)
		m := &fakeMover{refuse: c.refuse}
		m.place = func(c *descheduling.Candidate) *descheduling.Node {
			if c.Gain(nodes[2]).Improves() || c.Gain(nodes[1]).Improves() || !c.Gain(nodes[0]).Improves() {
				t.Errorf("%s: %s improves on n2 or n3, which must become empty, or not on n1", name, c.Pod.Name)
			}
			return nodes[0]
		}
		s := testSnapshot(nodes, append(c.pods, testPod("a", "n1", cpuRequest(3)))...)
		if got := evict(t, s, &descheduling.Policy{}, m, &HighNodeUtilization{Thresholds: percents(30)}); got != c.want {
			t.Errorf("%s: evicted %q, want %q", name, got, c.want)
		}
	}
}

// randomBetterNode returns a function that chooses a random node with capacity and a gain.
func randomBetterNode(rng *rand.Rand, r **descheduling.Round, nodes []*descheduling.Node) func(*descheduling.Candidate) *descheduling.Node {
	return func(c *descheduling.Candidate) *descheduling.Node {
		var candidates []*descheduling.Node
		for _, n := range nodes {
			if n != c.Node && (*r).FitsRequests(c.Pod, n) && c.Gain(n).Improves() {
				candidates = append(candidates, n)
			}
		}
		if len(candidates) == 0 {
			return nil
		}
		return candidates[rng.IntN(len(candidates))]
	}
}

// TestLowNodeUtilizationPlanned checks in random clusters that a plan raises no other node above
// its target and takes no pods from nodes below it. If it leaves no node above the target, a second run moves nothing.
func TestLowNodeUtilizationPlanned(t *testing.T) {
	moves, finished := 0, 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 3))
		nodes := numberedNodes(3 + rng.IntN(5))
		var pods []*descheduling.Pod
		for i := range 5 + rng.IntN(20) {
			pods = append(pods, testPod(fmt.Sprintf("p%02d", i), nodes[min(rng.IntN(len(nodes)), rng.IntN(len(nodes)))].Name, cpuRequest(float64(1+rng.IntN(4))/4)))
		}
		var round *descheduling.Round
		m := &fakeMover{place: randomBetterNode(rng, &round, nodes)}
		l := &LowNodeUtilization{Thresholds: percents(30), Targets: percents(60)}
		highest, movesBefore := int64(0), moves
		evict(t, testSnapshot(nodes, pods...), &descheduling.Policy{}, m, strategyFunc(func(r *descheduling.Round) {
			round = r
			before := map[*descheduling.Node]int64{}
			for _, n := range nodes {
				before[n] = r.Requests(n).MilliCPU
			}
			l.Run(r)
			moves += r.NumEvicted()
			for _, n := range nodes {
				after := r.Requests(n).MilliCPU
				highest = max(highest, after)
				if after > before[n] && after > 2400 || after < before[n] && before[n] <= 2400 {
					t.Errorf("seed %d: the usage of %s changed from %d to %d, want a change toward the target 2400 only", seed, n.Name, before[n], after)
				}
			}
			for _, move := range r.Moves() {
				move.Pod.NodeName = move.To.Name // for the second run
			}
		}))
		if moves == movesBefore || highest > 2400 {
			continue
		}
		finished++
		m.place = func(c *descheduling.Candidate) *descheduling.Node { // anywhere, without a gain
			return nodes[slices.IndexFunc(nodes, func(n *descheduling.Node) bool { return n != c.Node })]
		}
		if again := evict(t, testSnapshot(nodes, pods...), &descheduling.Policy{}, m, l); again != "" {
			t.Errorf("seed %d: the second run moved %s, want nothing", seed, again)
		}
	}
	if moves < 80 || finished < 20 {
		t.Errorf("%d moves, %d finished plans; want at least 80 and 20", moves, finished)
	}
}

// TestHighNodeUtilizationPlanned checks in random clusters that every node that
// HighNodeUtilization plans to empty becomes empty, and that no other node loses a pod.
func TestHighNodeUtilizationPlanned(t *testing.T) {
	emptied := 0
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 4))
		nodes := numberedNodes(3 + rng.IntN(6))
		var pods []*descheduling.Pod
		for i := range 3 + rng.IntN(20) {
			pods = append(pods, testPod(fmt.Sprintf("p%02d", i), nodes[min(rng.IntN(len(nodes)), rng.IntN(len(nodes)))].Name, cpuRequest(float64(1+rng.IntN(4))/4)))
		}
		var round *descheduling.Round
		m := &fakeMover{place: randomBetterNode(rng, &round, nodes)}
		evict(t, testSnapshot(nodes, pods...), &descheduling.Policy{}, m, strategyFunc(func(r *descheduling.Round) {
			round = r
			(&HighNodeUtilization{Thresholds: percents(40)}).Run(r)
			for _, n := range nodes {
				evicted := slices.ContainsFunc(r.Moves(), func(m descheduling.Move) bool { return m.Node == n })
				if empty := len(r.PodsOn(n)) == 0; evicted && !empty {
					t.Errorf("seed %d: %s lost pods and is not empty", seed, n.Name)
				} else if evicted {
					emptied++
				}
			}
		}))
	}
	if emptied < 40 {
		t.Errorf("%d nodes emptied, want at least 40", emptied)
	}
}
