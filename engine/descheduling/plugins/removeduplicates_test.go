package plugins

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
)

func images(list ...string) func(*descheduling.Pod) {
	return func(p *descheduling.Pod) { p.Details.Images = list }
}

func owners(list ...string) func(*descheduling.Pod) {
	return func(p *descheduling.Pod) {
		p.Details.Owners = nil
		for _, o := range list {
			kind, name, _ := strings.Cut(o, "/")
			p.Details.Owners = append(p.Details.Owners, model.Owner{Kind: kind, Name: name, UID: "uid-" + o})
		}
	}
}

// TestDuplicates checks which pods are duplicates, how many a node may keep, and which are evicted.
func TestDuplicates(t *testing.T) {
	otherNamespace := func(p *descheduling.Pod) { p.Namespace = "other" }
	onlyHDD := func(p *descheduling.Pod) {
		p.Spec = &model.PodSpec{NodeSelector: model.NodeSelector{Labels: model.LabelsOf(map[string]string{"disk": "hdd"})}}
	}
	for name, c := range map[string]struct {
		s    RemoveDuplicates
		pods []*descheduling.Pod
		want string
	}{
		"three pods on one of three nodes":            {pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n1")}, want: "b c"},
		"two pods per node are balanced":              {pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n2"), testPod("d", "n2"), testPod("e", "n3"), testPod("f", "n3")}},
		"average rounded up":                          {pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n1"), testPod("d", "n2")}, want: "c"},
		"other images":                                {pods: []*descheduling.Pod{testPod("a", "n1", images("x")), testPod("b", "n1", images("y"))}},
		"images in another order":                     {pods: []*descheduling.Pod{testPod("a", "n1", images("x", "y")), testPod("b", "n1", images("y", "x"))}, want: "b"},
		"another namespace":                           {pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1", otherNamespace)}},
		"an owner of another kind with the same name": {pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1", owners("Job/rs"))}},
		"excluded kind":                               {s: RemoveDuplicates{ExcludeOwnerKinds: []string{"ReplicaSet"}}, pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1")}},
		"excluded namespace":                          {s: RemoveDuplicates{Namespaces: descheduling.Namespaces{Exclude: []string{"default"}}}, pods: []*descheduling.Pod{testPod("a", "n1"), testPod("b", "n1")}},
		"one owner in common is not enough":           {pods: []*descheduling.Pod{testPod("a", "n1", owners("X/x", "Y/y")), testPod("b", "n1", owners("X/x"))}},
		"all owners in common, once":                  {pods: []*descheduling.Pod{testPod("a", "n1", owners("X/x", "Y/y")), testPod("b", "n1", owners("Y/y", "X/x"))}, want: "b"},
		"no other node":                               {pods: []*descheduling.Pod{testPod("a", "n1", onlyHDD), testPod("b", "n1", onlyHDD)}},
		"protected pods are not counted":              {pods: []*descheduling.Pod{testPod("a", "n1", func(p *descheduling.Pod) { p.Details.LocalStorage = true }), testPod("b", "n1")}},
	} {
		nodes := labeledNodes()
		if got := evict(t, testSnapshot(nodes, c.pods...), &descheduling.Policy{}, &fakeMover{}, &c.s); got != c.want {
			t.Errorf("%s: evicted %q, want %q", name, got, c.want)
		}
	}
}

// TestDuplicatesPlanned checks that a plan counts protected duplicates and only moves to nodes with fewer duplicates.
// If one pod of a node is refused, it proposes the others.
func TestDuplicatesPlanned(t *testing.T) {
	nodes := numberedNodes(3)
	localStorage := func(p *descheduling.Pod) { p.Details.LocalStorage = true }
	s := testSnapshot(nodes, testPod("a", "n1"), testPod("b", "n1"), testPod("c", "n1", localStorage), testPod("d", "n2"))
	m := &fakeMover{refuse: "b", place: func(c *descheduling.Candidate) *descheduling.Node {
		if g := c.Gain(nodes[1]); g.Improves() && c.Pod.Name == "a" && g.Before != 3 {
			t.Errorf("gain of a on n2: %+v, want 3 before", g)
		}
		if c.Gain(nodes[0]).Improves() {
			t.Errorf("gain on the node of the pod: %+v, want no improvement", c.Gain(nodes[0]))
		}
		if g := c.Gain(nodes[2]); !g.Improves() {
			t.Errorf("gain on n3: %+v, want an improvement", g)
		}
		return nodes[2]
	}}
	if got := evict(t, s, &descheduling.Policy{}, m, &RemoveDuplicates{}); got != "a" || strings.Join(m.candidates, " ") != "b a" {
		t.Errorf("candidates %v, evicted %q; want b a, a", m.candidates, got)
	}
}

// TestDuplicatesPlannedEvenly checks in random clusters that a plan leaves no node with more pods of an owner than the
// average over the nodes, rounded up. Each move must lower the sum of the squares of these numbers.
func TestDuplicatesPlannedEvenly(t *testing.T) {
	moves := 0
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		nodes := numberedNodes(2 + rng.IntN(4))
		var pods []*descheduling.Pod
		for i := range 4 + rng.IntN(12) {
			pods = append(pods, testPod(string(rune('a'+i)), nodes[rng.IntN(len(nodes))].Name, owners([]string{"A/a", "B/b"}[rng.IntN(2)])))
		}
		m := &fakeMover{place: func(c *descheduling.Candidate) *descheduling.Node {
			for range 20 {
				if to := nodes[rng.IntN(len(nodes))]; c.Gain(to).Improves() {
					return to
				}
			}
			return nil
		}}
		evict(t, testSnapshot(nodes, pods...), &descheduling.Policy{}, m, strategyFunc(func(r *descheduling.Round) {
			(&RemoveDuplicates{}).Run(r)
			total := map[string]int{}
			for _, p := range pods {
				total[p.Details.Owners[0].Name]++
			}
			for _, n := range nodes {
				perNode := map[string]int{}
				for _, p := range r.PodsOn(n) {
					o := p.Details.Owners[0].Name
					if perNode[o]++; perNode[o] > (total[o]+len(nodes)-1)/len(nodes) && !r.Moved(p) {
						t.Errorf("seed %d: %s has %d of %d copies of %s", seed, n.Name, perNode[o], total[o], o)
					}
				}
			}
			moves += r.NumEvicted()
			checkEvenerMoves(t, seed, pods, r.Moves())
		}))
	}
	if moves < 50 {
		t.Errorf("%d moves, want at least 50", moves)
	}
}

// checkEvenerMoves checks that each move lowers the sum of the squared numbers of the owner's pods per node.
func checkEvenerMoves(t *testing.T, seed uint64, pods []*descheduling.Pod, moves []descheduling.Move) {
	t.Helper()
	counts := map[string]int{} // by owner and node
	key := func(p *descheduling.Pod, node string) string { return p.Details.Owners[0].Name + " on " + node }
	for _, p := range pods {
		counts[key(p, p.NodeName)]++
	}
	for _, m := range moves {
		from, to := key(m.Pod, m.Node.Name), key(m.Pod, m.To.Name)
		// (from-1)²+(to+1)² is less than from²+to² if from exceeds to by more than 1.
		if counts[from] <= counts[to]+1 {
			t.Errorf("seed %d: %s moved from %s (%d pods) to %s (%d pods), want a lower sum of squares", seed, m.Pod.Name, m.Node.Name, counts[from], m.To.Name, counts[to])
		}
		counts[from]--
		counts[to]++
	}
}

// TestEligibleNodes checks that counting by tainted nodes only gives the same result as checking
// every node.
func TestEligibleNodes(t *testing.T) {
	counts := map[int]bool{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		nodes := append(labeledNodes(), taintedNodes()...)
		rng.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		nodes = nodes[:1+rng.IntN(len(nodes))]
		r := newEligibleNodes(nodes)
		p := testPod("p", "", func(p *descheduling.Pod) {
			for _, key := range []string{"gpu", "old", "retired"} {
				if rng.IntN(2) == 0 {
					p.Spec.Tolerations = append(p.Spec.Tolerations, model.Toleration{Key: key, Op: model.TolExists})
				}
			}
			if rng.IntN(3) == 0 {
				p.Spec.NodeSelector.HasRequired = true
				p.Spec.NodeSelector.Required = []model.NodeSelectorTerm{nodeTerm("ssd"), nodeTerm("hdd")}
			}
		})
		want := 0
		for _, n := range nodes {
			if canRunOn(p, n) {
				want++
			}
		}
		if want == 1 {
			want = 0
		}
		for range 2 {
			if got := r.countForPod(p); got != want {
				t.Errorf("seed %d: countForPod returned %d, want %d", seed, got, want)
			}
		}
		counts[want] = true
	}
	if len(counts) < 5 {
		t.Errorf("got the counts %v, want at least 5 different ones", counts)
	}
}
