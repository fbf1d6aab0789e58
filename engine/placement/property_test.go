package placement

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

// objectGenerator creates random objects that many plugins read.
type objectGenerator struct{ *rand.Rand }

func (g objectGenerator) oneIn(n int) bool { return g.Intn(n) == 0 }

func (g objectGenerator) pick(values ...string) string { return values[g.Intn(len(values))] }

func (g objectGenerator) node(name string) *model.Node {
	n := build.Node(name)
	if !g.oneIn(6) {
		build.Zone(g.pick("z1", "z2", "z3"))(n)
	}
	if g.oneIn(4) {
		build.Tainted("t", g.pick("x", "y"), []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[g.Intn(3)])(n)
	}
	if g.oneIn(3) {
		n.Images = []model.Image{{Names: []string{"img"}, Size: int64(g.Intn(900)) << 20}}
	}
	n.AllocatablePods = int64(3 + g.Intn(8))
	n.Unschedulable = g.oneIn(12)
	return n
}

func (g objectGenerator) term() model.PodAffinityTerm {
	t := build.PodAffinityTerm(g.pick("zone", framework.HostnameKey), g.pick("web", "db"))
	if g.oneIn(4) {
		t.Namespaces, t.NamespaceSelector = nil, []*model.Selector{{}, build.Matches("team", "r")}[g.Intn(2)]
	}
	return t
}

func (g objectGenerator) pod(name string) *model.Pod {
	p := build.Pod(name, build.App(g.pick("web", "db", "etl")), build.Requests(int64(g.Intn(12))*100, int64(g.Intn(5))<<29), build.InNamespace(g.pick("default", "default", "red")))
	s := p.Spec
	s.Priority = int32(g.Intn(3))
	if g.oneIn(3) {
		s.AntiAffinity = []model.PodAffinityTerm{g.term()}
	}
	if g.oneIn(4) {
		s.Affinity = []model.PodAffinityTerm{g.term()}
	}
	if g.oneIn(4) {
		s.PreferredAffinity = []model.WeightedPodAffinityTerm{{Weight: int32(1 + g.Intn(100)), Term: g.term()}}
	}
	if g.oneIn(4) {
		s.PreferredAntiAffinity = []model.WeightedPodAffinityTerm{{Weight: int32(1 + g.Intn(100)), Term: g.term()}}
	}
	if g.oneIn(3) {
		s.Spread = []model.SpreadConstraint{
			{TopologyKey: g.pick("zone", framework.HostnameKey), MaxSkew: int32(1 + g.Intn(2)), MinDomains: int32(1 + g.Intn(3)), Hard: g.oneIn(2),
				Selector: build.Matches("app", g.pick("web", "db")), IgnoreAffinity: g.oneIn(3), HonorTaints: g.oneIn(3)},
			{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Selector: build.Matches("app", "web")},
		}
	}
	if g.oneIn(5) {
		s.Ports = []model.HostPort{{IP: g.pick(plugins.AnyIP, "10.0.0.1", "10.0.0.2"), Protocol: "TCP", Port: 80}}
	}
	if g.oneIn(3) {
		s.Tolerations = []model.Toleration{{Key: "t", Value: g.pick("x", "y"), Op: model.TolEqual}}
	}
	if g.oneIn(4) {
		s.NodeSelector.Preferred = []model.PreferredSchedulingTerm{{Weight: 3, Term: build.LabelIn("zone", "z1", "z2")}}
	}
	s.Images = []string{"img"}
	p.Deleting = g.oneIn(10)
	return p
}

// objects returns nodes, assigned pods, a nominated pod and spread groups.
func (g objectGenerator) objects() []any {
	objects := []any{model.Namespace{Name: "default"}, model.Namespace{Name: "red", Labels: model.Labels{{Key: "team", Value: "r"}}},
		model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "etl", Selector: build.Matches("app", "etl")}}
	nodes := 2 + g.Intn(6)
	for i := range nodes {
		objects = append(objects, g.node(fmt.Sprint("n", i)))
	}
	for i := range g.Intn(20) {
		p := g.pod(fmt.Sprint("x", i))
		p.NodeName = fmt.Sprint("n", g.Intn(nodes))
		if i == 0 {
			p.NominatedNodeName, p.NodeName = p.NodeName, ""
		}
		objects = append(objects, p)
	}
	return objects
}

func TestObjectOrderDoesNotMatter(t *testing.T) {
	profile := profile(t)
	for seed := range int64(300) {
		g := objectGenerator{rand.New(rand.NewSource(seed))}
		objects, p := g.objects(), g.pod("p")
		p.Deleting = false
		want := Evaluate(build.NewState(objects...), profile, 1, p)
		g.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		got := Evaluate(build.NewState(objects...), profile, 1, p)
		got.Revision = want.Revision
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in another order\n got %+v\nwant %+v", seed, got, want)
		}
	}
}

// TestDryRunEqualsRemoval checks that filtering a node without some of its pods has the same
// verdict as removing them.
func TestDryRunEqualsRemoval(t *testing.T) {
	profile := profile(t)
	for seed := range int64(600) {
		g := objectGenerator{rand.New(rand.NewSource(seed))}
		s, p := build.NewState(g.objects()...), g.pod("p")
		before := framework.NewEvaluation(s, profile, p, s.NodeIDs())
		if !runPreFilters(before, &decision.Record{}) {
			continue
		}
		candidate := &before.Nodes[g.Intn(len(before.Nodes))]
		removed := slices.DeleteFunc(slices.Clone(candidate.Pods), func(*model.Pod) bool { return g.oneIn(2) })
		got := before.RunFilters(candidate.With(nil, removed))

		fork := s.Fork()
		for _, p := range removed {
			fork.RemovePod(p.UID)
		}
		after := framework.NewEvaluation(fork, profile, p, fork.NodeIDs())
		runPreFilters(after, &decision.Record{})
		if want := after.RunFilters(after.NodeByName(candidate.Node.Name)); got.Plugin != want.Plugin || got.Code != want.Code || decision.JoinReasons(got.Reasons) != decision.JoinReasons(want.Reasons) {
			t.Fatalf("seed %d: %s without %d pods\n got %+v\nwant %+v", seed, candidate.Node.Name, len(removed), got, want)
		}
	}
}

// TestScoresStayWithinBounds checks that the total is the sum of the scores, and that each score is between 0 and 100
// times the weight. The selected node is one of the nodes with the highest total.
func TestScoresStayWithinBounds(t *testing.T) {
	profile := profile(t)
	for seed := range int64(300) {
		g := objectGenerator{rand.New(rand.NewSource(seed))}
		p := g.pod("p")
		p.Deleting = false
		r := Evaluate(build.NewState(g.objects()...), profile, uint64(seed), p)
		for _, n := range r.Nodes {
			var total int64
			for _, s := range n.Scores {
				i := slices.IndexFunc(profile.Config().Score, func(w framework.WeightedPlugin) bool { return w.Plugin == s.Plugin })
				if w := profile.Config().Score[i].Weight; s.Points < 0 || s.Points > 100*w || s.Points%w != 0 {
					t.Fatalf("seed %d: %s has %d points of %s, weight %d", seed, n.Name, s.Points, s.Plugin, w)
				}
				total += s.Points
			}
			if total != n.Total {
				t.Fatalf("seed %d: the total of %s is %d, want %d, the sum of its scores", seed, n.Name, n.Total, total)
			}
		}
		if (r.Outcome == decision.Scheduled) != slices.Contains(r.Top, r.Choice) {
			t.Fatalf("seed %d: outcome %s with choice %q, top nodes %v", seed, r.Outcome, r.Choice, r.Top)
		}
	}
}
