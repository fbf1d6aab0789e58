package plugins

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

// referenceConflicts returns the number of conflicts of p on n by a comparison with all pods.
func referenceConflicts(r *descheduling.Round, scope *descheduling.Scope, p *descheduling.Pod, n *descheduling.Node) (sum int64) {
	for i := range p.Spec.AntiAffinity {
		t := &p.Spec.AntiAffinity[i]
		for _, m := range r.Nodes() {
			a, ok1 := n.Labels.Get(t.TopologyKey)
			b, ok2 := m.Labels.Get(t.TopologyKey)
			if m != n && !(ok1 && ok2 && a == b) {
				continue
			}
			for _, q := range r.PodsOn(m) {
				if scope.Has(q) && q.Name != p.Name && descheduling.MatchesAntiAffinityTerm(p, t, q) {
					sum++
				}
			}
		}
	}
	return sum
}

// TestAntiAffinityIndex compares the index with a comparison of all pods, in random clusters in
// which pods move.
func TestAntiAffinityIndex(t *testing.T) {
	conflicts, moves := 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 6))
		s := randomAntiAffinity(rng)
		scope := &descheduling.Scope{}
		if seed%3 == 0 {
			scope.Namespaces.Exclude = []string{"b"}
		}
		if seed%4 == 0 {
			scope.Labels = &model.Selector{Requirements: []model.Requirement{{Key: "tier", Op: model.Exists}}}
		}
		m := &fakeMover{}
		if seed%2 == 0 {
			m.place = func(*descheduling.Candidate) *descheduling.Node { return s.Nodes[rng.IntN(len(s.Nodes))] }
		}
		evict(t, s, &descheduling.Policy{}, m, strategyFunc(func(r *descheduling.Round) {
			index := newAntiAffinityIndex(r, &RemovePodsViolatingInterPodAntiAffinity{Scope: *scope})
			for range 8 {
				conflicts += compareConflicts(t, r, scope, index, fmt.Sprintf("seed %d", seed))
				n := s.Nodes[rng.IntN(len(s.Nodes))]
				pods := r.PodsOn(n)
				if len(pods) == 0 {
					continue
				}
				p := pods[rng.IntN(len(pods))]
				if scope.Has(p) && !r.Moved(p) && r.Evict(&descheduling.Candidate{Pod: p, Node: n}) == descheduling.Accepted {
					index.podMoved(p)
					moves++
				}
			}
		}))
	}
	if conflicts < 10000 || moves < 250 {
		t.Errorf("%d conflicts and %d moves, want at least 10000 and 250", conflicts, moves)
	}
}

func compareConflicts(t *testing.T, r *descheduling.Round, scope *descheduling.Scope, index *antiAffinityIndex, state string) (conflicts int) {
	for _, n := range r.Nodes() {
		for _, p := range r.PodsOn(n) {
			if !scope.Has(p) {
				continue
			}
			for _, target := range r.Nodes() {
				want := referenceConflicts(r, scope, p, target)
				if got := index.countConflicts(p, target); got != want || (index.firstConflict(p, target) != nil) != (want > 0) {
					t.Fatalf("%s: %s of %s on %s: %d conflicts, want %d", state, p.Key(), n.Name, target.Name, got, want)
				}
				conflicts += int(want)
			}
		}
	}
	return conflicts
}

// randomAntiAffinity returns a cluster with zones, nodes without a zone, and pods of a few
// specifications with anti-affinity.
func randomAntiAffinity(rng *rand.Rand) *descheduling.Snapshot {
	nodes := numberedNodes(2 + rng.IntN(5))
	for _, n := range nodes {
		l := map[string]string{"host": n.Name}
		if z := rng.IntN(3); z > 0 {
			l["zone"] = fmt.Sprint(z)
		}
		n.Labels = model.LabelsOf(l)
	}
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	var specs []*model.PodSpec
	for range 4 {
		spec := &model.PodSpec{}
		for range rng.IntN(3) {
			t := model.PodAffinityTerm{TopologyKey: pick("host", "zone"), Namespaces: strings.Fields(pick("a", "b", "a b", "")), Selector: labelSelector("app", pick("x", "y"))}
			switch rng.IntN(4) {
			case 0:
				t.Selector = &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.NotIn, Values: []string{"x"}}}}
			case 1:
				t.Selector = &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{""}}}}
			}
			spec.AntiAffinity = append(spec.AntiAffinity, t)
		}
		specs = append(specs, spec)
	}
	var pods []*descheduling.Pod
	for i := range 5 + rng.IntN(20) {
		pods = append(pods, testPod(fmt.Sprintf("p%d", i/2), nodes[rng.IntN(len(nodes))].Name, func(p *descheduling.Pod) {
			p.Namespace, p.Spec = []string{"a", "b"}[i%2], specs[rng.IntN(len(specs))]
			l := map[string]string{"app": pick("x", "y", "")}
			if rng.IntN(3) > 0 {
				l["tier"] = "t"
			}
			p.Labels = model.LabelsOf(l)
			if rng.IntN(8) == 0 {
				p.Phase = model.Failed
			}
		}))
	}
	return testSnapshot(nodes, pods...)
}

// TestAntiAffinityOrder checks that the pod with the lowest priority is evicted first. The others
// then no longer violate its anti-affinity.
func TestAntiAffinityOrder(t *testing.T) {
	antiAffinity := func(v int32) func(*descheduling.Pod) {
		return func(p *descheduling.Pod) {
			p.Labels = model.LabelsOf(map[string]string{"app": "web"})
			p.Details.HasPriority = true
			p.Spec = &model.PodSpec{Priority: v, AntiAffinity: []model.PodAffinityTerm{{TopologyKey: "host", Namespaces: []string{"default"}, Selector: labelSelector("app", "web")}}}
		}
	}
	nodes := numberedNodes(2)
	s := testSnapshot(nodes, testPod("a", "n1", antiAffinity(3)), testPod("b", "n1", antiAffinity(1)), testPod("c", "n1", antiAffinity(2)), testPod("d", "n2", antiAffinity(1)))
	m := &fakeMover{refuse: "c"}
	if got := evict(t, s, &descheduling.Policy{}, m, &RemovePodsViolatingInterPodAntiAffinity{}); got != "b a" || strings.Join(m.candidates, " ") != "b c a" {
		t.Errorf("evicted %q, candidates %v; want b a, b c a", got, m.candidates)
	}
	var gains []descheduling.Gain
	planner := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node {
		gains = append(gains, c.Gain(nodes[1]), c.Gain(nodes[0]))
		return nil
	}}
	evict(t, s, &descheduling.Policy{}, planner, &RemovePodsViolatingInterPodAntiAffinity{})
	metric := "pods excluded by its anti-affinity"
	if len(gains) != 6 || gains[0] != (descheduling.Gain{Before: 2, After: 1, Metric: metric}) || gains[1] != (descheduling.Gain{Before: 2, After: 2, Metric: metric}) || !gains[0].Improves() {
		t.Errorf("gains %v, want 2>1 on n2 and 2>2 on n1 first", gains)
	}
}

// TestAntiAffinityPlanned checks that a planned move may cause conflicts on its target node, whose pods are then
// evicted. A moved pod is not considered again.
func TestAntiAffinityPlanned(t *testing.T) {
	shared := &model.PodSpec{AntiAffinity: []model.PodAffinityTerm{{TopologyKey: "host", Namespaces: []string{"default"}, Selector: labelSelector("app", "web")}}}
	antiAffinity := func(p *descheduling.Pod) { p.Labels, p.Spec = model.LabelsOf(map[string]string{"app": "web"}), shared }
	nodes := numberedNodes(3)
	s := testSnapshot(nodes, testPod("a", "n1", antiAffinity), testPod("b", "n1", antiAffinity), testPod("c", "n2", antiAffinity))
	next := map[string]*descheduling.Node{"a": nodes[1], "c": nodes[2]}
	m := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node { return next[c.Pod.Name] }}
	if got := evict(t, s, &descheduling.Policy{}, m, &RemovePodsViolatingInterPodAntiAffinity{}); got != "a c" {
		t.Errorf("evicted %q, want a c", got)
	}
}
