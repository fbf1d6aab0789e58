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

// eventGenerator creates random objects for many plugins.
type eventGenerator struct{ *rand.Rand }

func (d eventGenerator) one(in int) bool { return d.Intn(in) == 0 }

func (d eventGenerator) pick(of ...string) string { return of[d.Intn(len(of))] }

func (d eventGenerator) node(name string) *model.Node {
	n := build.Node(name)
	if !d.one(6) {
		build.Zone(d.pick("z1", "z2", "z3"))(n)
	}
	if d.one(4) {
		build.Tainted("t", d.pick("x", "y"), []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[d.Intn(3)])(n)
	}
	if d.one(3) {
		n.Images = []model.Image{{Names: []string{"img"}, Size: int64(d.Intn(900)) << 20}}
	}
	n.AllocatablePods = int64(3 + d.Intn(8))
	n.Unschedulable = d.one(12)
	return n
}

func (d eventGenerator) term() model.PodAffinityTerm {
	t := build.PodAffinityTerm(d.pick("zone", framework.HostnameKey), d.pick("web", "db"))
	if d.one(4) {
		t.Namespaces, t.NamespaceSelector = nil, []*model.Selector{{}, build.Matches("team", "r")}[d.Intn(2)]
	}
	return t
}

func (d eventGenerator) pod(name string) *model.Pod {
	p := build.Pod(name, build.App(d.pick("web", "db", "etl")), build.Requests(int64(d.Intn(12))*100, int64(d.Intn(5))<<29), build.InNamespace(d.pick("default", "default", "red")))
	s := p.Spec
	s.Priority = int32(d.Intn(3))
	if d.one(3) {
		s.AntiAffinity = []model.PodAffinityTerm{d.term()}
	}
	if d.one(4) {
		s.Affinity = []model.PodAffinityTerm{d.term()}
	}
	if d.one(4) {
		s.PreferredAffinity = []model.WeightedPodAffinityTerm{{Weight: int32(1 + d.Intn(100)), Term: d.term()}}
	}
	if d.one(4) {
		s.PreferredAntiAffinity = []model.WeightedPodAffinityTerm{{Weight: int32(1 + d.Intn(100)), Term: d.term()}}
	}
	if d.one(3) {
		s.Spread = []model.SpreadConstraint{
			{TopologyKey: d.pick("zone", framework.HostnameKey), MaxSkew: int32(1 + d.Intn(2)), MinDomains: int32(1 + d.Intn(3)), Hard: d.one(2),
				Selector: build.Matches("app", d.pick("web", "db")), IgnoreAffinity: d.one(3), HonorTaints: d.one(3)},
			{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Selector: build.Matches("app", "web")},
		}
	}
	if d.one(5) {
		s.Ports = []model.HostPort{{IP: d.pick(plugins.AnyIP, "10.0.0.1", "10.0.0.2"), Protocol: "TCP", Port: 80}}
	}
	if d.one(3) {
		s.Tolerations = []model.Toleration{{Key: "t", Value: d.pick("x", "y"), Op: model.TolEqual}}
	}
	if d.one(4) {
		s.NodeSelector.Preferred = []model.PreferredSchedulingTerm{{Weight: 3, Term: build.LabelIn("zone", "z1", "z2")}}
	}
	s.Images = []string{"img"}
	p.Deleting = d.one(10)
	return p
}

// world returns nodes, assigned pods, a nominated pod and spread groups.
func (d eventGenerator) world() []any {
	objects := []any{model.Namespace{Name: "default"}, model.Namespace{Name: "red", Labels: model.Labels{{Key: "team", Value: "r"}}},
		model.SpreadGroup{Kind: "Service", Namespace: "default", Name: "etl", Selector: build.Matches("app", "etl")}}
	nodes := 2 + d.Intn(6)
	for i := range nodes {
		objects = append(objects, d.node(fmt.Sprint("n", i)))
	}
	for i := range d.Intn(20) {
		p := d.pod(fmt.Sprint("x", i))
		if p.NodeName = fmt.Sprint("n", d.Intn(nodes)); i == 0 {
			p.NominatedNodeName, p.NodeName = p.NodeName, ""
		}
		objects = append(objects, p)
	}
	return objects
}

func TestObjectOrderDoesNotMatter(t *testing.T) {
	c := profile(t)
	for seed := range int64(300) {
		d := eventGenerator{rand.New(rand.NewSource(seed))}
		objects, p := d.world(), d.pod("p")
		p.Deleting = false
		want := Evaluate(build.NewState(objects...), c, 1, p)
		d.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		got := Evaluate(build.NewState(objects...), c, 1, p)
		got.Revision = want.Revision
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in another order\n got %+v\nwant %+v", seed, got, want)
		}
	}
}

// Filtering a node without some of its pods gives the same verdict as removing them.
func TestDryRunEqualsRemoval(t *testing.T) {
	c := profile(t)
	for seed := range int64(600) {
		d := eventGenerator{rand.New(rand.NewSource(seed))}
		s, p := build.NewState(d.world()...), d.pod("p")
		a := framework.NewEvaluation(s, c, p, s.NodeIDs())
		if !runPreFilters(a, &decision.Record{}) {
			continue
		}
		st := &a.Nodes[d.Intn(len(a.Nodes))]
		gone := slices.DeleteFunc(slices.Clone(st.Pods), func(*model.Pod) bool { return d.one(2) })
		got := a.RunFilters(st.With(nil, gone))

		f := s.Fork()
		for _, g := range gone {
			f.RemovePod(g.UID)
		}
		b := framework.NewEvaluation(f, c, p, f.NodeIDs())
		runPreFilters(b, &decision.Record{})
		if want := b.RunFilters(b.NodeByName(st.Node.Name)); got.Plugin != want.Plugin || got.Code != want.Code || decision.JoinReasons(got.Reasons) != decision.JoinReasons(want.Reasons) {
			t.Fatalf("seed %d: %s without %d pods\n got %+v\nwant %+v", seed, st.Node.Name, len(gone), got, want)
		}
	}
}

// The total is the sum of the scores, each score is between 0 and 100 times the weight,
// and the selected node is among the top nodes.
func TestScoresStayWithinBounds(t *testing.T) {
	c := profile(t)
	for seed := range int64(300) {
		d := eventGenerator{rand.New(rand.NewSource(seed))}
		p := d.pod("p")
		p.Deleting = false
		r := Evaluate(build.NewState(d.world()...), c, uint64(seed), p)
		for _, n := range r.Nodes {
			var total int64
			for _, s := range n.Scores {
				i := slices.IndexFunc(c.Config().Score, func(w framework.WeightedPlugin) bool { return w.Plugin == s.Plugin })
				if w := c.Config().Score[i].Weight; s.Points < 0 || s.Points > 100*w || s.Points%w != 0 {
					t.Fatalf("seed %d: %s has %d points of %s, weight %d", seed, n.Name, s.Points, s.Plugin, w)
				}
				total += s.Points
			}
			if total != n.Total {
				t.Fatalf("seed %d: the total of %s is %d, the sum %d", seed, n.Name, n.Total, total)
			}
		}
		if (r.Outcome == decision.Scheduled) != slices.Contains(r.Top, r.Choice) {
			t.Fatalf("seed %d: choice %q of %v", seed, r.Choice, r.Top)
		}
	}
}
