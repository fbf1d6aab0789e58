package plugins

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// zonedNodes returns nodes n1, n2, ... in zones a, b, c, a, ...
func zonedNodes(n int) []*descheduling.Node {
	nodes := numberedNodes(n)
	for i, node := range nodes {
		node.Labels = model.LabelsOf(map[string]string{"zone": string(rune('a' + i%3)), "host": node.Name})
	}
	return nodes
}

// withSpread makes a pod part of an app and adds a spread constraint.
func withSpread(app, key string, skew int32, change ...func(*model.SpreadConstraint)) func(*descheduling.Pod) {
	return func(p *descheduling.Pod) {
		p.Labels = model.LabelsOf(map[string]string{"app": app})
		c := model.SpreadConstraint{TopologyKey: key, MaxSkew: skew, Hard: true, Selector: labelSelector("app", app)}
		for _, f := range change {
			f(&c)
		}
		spec := *p.Spec
		spec.Spread = append(slices.Clip(spec.Spread), c)
		p.Spec = &spec
	}
}

// podsPerZone returns pods p00, p01, ...: sizes[0] on node n1, sizes[1] on n2, and so on.
func podsPerZone(change func(*descheduling.Pod), sizes ...int) (out []*descheduling.Pod) {
	for i, n := range sizes {
		for range n {
			out = append(out, testPod(fmt.Sprintf("p%02d", len(out)), fmt.Sprintf("n%d", i+1), change))
		}
	}
	return out
}

func soft(c *model.SpreadConstraint) { c.Hard = false }

// TestSpread checks which constraints and domains count, and how many pods are evicted.
func TestSpread(t *testing.T) {
	hard := RemovePodsViolatingTopologySpreadConstraint{Hard: true, BalanceNodeFit: true}
	tainted := func(n []*descheduling.Node) { n[2].Taints = []model.Taint{{Key: "k", Effect: model.NoSchedule}} }
	onlyAB := func(p *descheduling.Pod) {
		p.Spec = &model.PodSpec{NodeSelector: model.NodeSelector{HasRequired: true, Required: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: "zone", Op: model.In, Values: []string{"a", "b"}}}}}}}
		withSpread("web", "zone", 1)(p)
	}
	for name, c := range map[string]struct {
		s     RemovePodsViolatingTopologySpreadConstraint
		nodes func([]*descheduling.Node)
		pods  []*descheduling.Pod
		want  int
	}{
		"4-1-0: two":                     {s: hard, pods: podsPerZone(withSpread("web", "zone", 1), 4, 1, 0), want: 2},
		"2-1-1 is within the skew":       {s: hard, pods: podsPerZone(withSpread("web", "zone", 1), 2, 1, 1)},
		"maxSkew 3":                      {s: hard, pods: podsPerZone(withSpread("web", "zone", 3), 4, 1, 1)},
		"ScheduleAnyway is not selected": {s: hard, pods: podsPerZone(withSpread("web", "zone", 1, soft), 4, 1, 0)},
		"ScheduleAnyway is selected":     {s: RemovePodsViolatingTopologySpreadConstraint{Soft: true}, pods: podsPerZone(withSpread("web", "zone", 1, soft), 4, 1, 0), want: 2},
		"no node has the key":            {s: hard, pods: podsPerZone(withSpread("web", "rack", 1), 4, 1, 0)},
		"empty domain with a taint":      {s: hard, nodes: tainted, pods: podsPerZone(withSpread("web", "zone", 1), 3, 3, 0)},
		"empty domain, taint ignored":    {s: RemovePodsViolatingTopologySpreadConstraint{Hard: true}, nodes: tainted, pods: podsPerZone(withSpread("web", "zone", 1), 3, 3, 0), want: 2},
		"empty domain, nodes ignored":    {s: RemovePodsViolatingTopologySpreadConstraint{Hard: true}, nodes: tainted, pods: podsPerZone(withSpread("web", "zone", 1, func(c *model.SpreadConstraint) { c.HonorTaints = true }), 3, 3, 0)},
		"pods limited to two zones":      {s: RemovePodsViolatingTopologySpreadConstraint{Hard: true}, pods: podsPerZone(onlyAB, 2, 2, 0)},
		"other namespaces":               {s: RemovePodsViolatingTopologySpreadConstraint{Hard: true, Scope: descheduling.Scope{Namespaces: descheduling.Namespaces{Exclude: []string{"default"}}}}, pods: podsPerZone(withSpread("web", "zone", 1), 4, 1, 0)},
	} {
		nodes := zonedNodes(3)
		if c.nodes != nil {
			c.nodes(nodes)
		}
		m := &fakeMover{}
		evict(t, testSnapshot(nodes, c.pods...), &descheduling.Policy{}, m, &c.s)
		if len(m.candidates) != c.want {
			t.Errorf("%s: evicted %v, want %d pods", name, m.candidates, c.want)
		}
	}
}

// TestSpreadMatchLabelKeys checks that matchLabelKeys limits the count to the pods of one
// revision.
func TestSpreadMatchLabelKeys(t *testing.T) {
	revision := func(v string) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) {
			withSpread("web", "zone", 1, func(c *model.SpreadConstraint) { c.MatchLabelKeys = []string{"rev"} })(p)
			p.Labels = model.LabelsOf(map[string]string{"app": "web", "rev": v})
		}
	}
	var pods []*descheduling.Pod
	for i, node := range []string{"n1", "n1", "n1", "n2", "n2", "n2"} {
		pods = append(pods, testPod(fmt.Sprint("p", i), node, revision([]string{"1", "2"}[i/3])))
	}
	m := &fakeMover{}
	evict(t, testSnapshot(zonedNodes(3)[:2], pods...), &descheduling.Policy{}, m, &RemovePodsViolatingTopologySpreadConstraint{Hard: true})
	if len(m.candidates) != 2 { // one of each revision, although all pods together are even
		t.Errorf("evicted %v, want 2 pods", m.candidates)
	}
}

// TestSpreadMatching checks that the label index finds the same pods as matching every pod.
func TestSpreadMatching(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	s := &namespacePods{}
	for i := range 200 {
		p := testPod(fmt.Sprint("p", i), "")
		p.Labels = model.LabelsOf(map[string]string{"app": fmt.Sprint(rng.IntN(5)), "tier": fmt.Sprint(rng.IntN(3))})
		s.pods = append(s.pods, podAtIndex{pod: p})
	}
	matches := 0
	for range 200 {
		selector := &model.Selector{}
		for _, key := range []string{"app", "tier"} {
			switch rng.IntN(4) {
			case 0:
				selector.Requirements = append(selector.Requirements, labelSelector(key, fmt.Sprint(rng.IntN(6))).Requirements...)
			case 1:
				selector.Requirements = append(selector.Requirements, model.Requirement{Key: key, Op: model.NotIn, Values: []string{"1"}})
			}
		}
		var want []podAtIndex
		for _, p := range s.pods {
			if selector.Matches(p.pod.Labels) {
				want = append(want, p)
			}
		}
		if got := s.matchingPods(selector); !slices.Equal(got, want) {
			t.Fatalf("%+v: %d pods, want %d", selector, len(got), len(want))
		}
		matches += len(want)
	}
	if matches == 0 || s.matchingPods(nil) != nil {
		t.Errorf("matched %d pods and %v without a selector, want at least one and none", matches, s.matchingPods(nil))
	}
}

// sumOfSquares returns the squared pod counts of all apps per value of the keys, summed up. A lower
// sum is a more even spread.
func sumOfSquares(r *descheduling.Round, pods []*descheduling.Pod, keys ...string) (sum int) {
	count := map[string]int{}
	for _, p := range pods {
		for _, k := range keys {
			v, _ := r.NodeOf(p).Labels.Get(k)
			app, _ := p.Labels.Get("app")
			count[app+"/"+k+"/"+v]++
		}
	}
	for _, n := range count {
		sum += n * n
	}
	return sum
}

// TestSpreadPlanned checks in random clusters with two constraints per pod that each planned move lowers the sum of
// squares. At the end all skews are within their limits.
func TestSpreadPlanned(t *testing.T) {
	moves := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 6))
		nodes := zonedNodes(3 * (1 + rng.IntN(3)))
		apps := map[string]func(*descheduling.Pod){}
		for _, app := range []string{"x", "y"} {
			apps[app] = func(p *descheduling.Pod) { withSpread(app, "zone", 1)(p); withSpread(app, "host", 1)(p) }
		}
		var pods []*descheduling.Pod
		for i := range 6 + rng.IntN(20) {
			pods = append(pods, testPod(fmt.Sprintf("p%02d", i), nodes[min(rng.IntN(len(nodes)), rng.IntN(len(nodes)))].Name, apps[[]string{"x", "y"}[rng.IntN(2)]]))
		}
		var round *descheduling.Round
		last := 0
		m := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node {
			sum := sumOfSquares(round, pods, "zone", "host")
			if sum >= last {
				t.Errorf("seed %d: sum of squares %d after a move, want less than the previous %d", seed, sum, last)
			}
			best, least := (*descheduling.Node)(nil), int64(0)
			for _, n := range nodes {
				if g := c.Gain(n); g.Improves() && (best == nil || g.After-g.Before < least) {
					best, least = n, g.After-g.Before
				}
			}
			if best != nil {
				last = sum
			}
			return best
		}}
		evict(t, testSnapshot(nodes, pods...), &descheduling.Policy{}, m, strategyFunc(func(r *descheduling.Round) {
			round, last = r, 1<<30
			s := &RemovePodsViolatingTopologySpreadConstraint{Hard: true}
			s.Run(r)
			moves += r.NumEvicted()
			for _, ns := range s.namespaces(r) {
				for _, g := range s.constraints(ns) {
					if g.countPods(r, ns); !g.isBalanced() {
						t.Errorf("seed %d: app %v: %s is not balanced", seed, g.selector.Requirements, g.TopologyKey)
					}
				}
			}
		}))
	}
	if moves < 100 {
		t.Errorf("%d moves, want at least 100", moves)
	}
}
