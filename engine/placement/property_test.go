package placement

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// dice makes random objects that mix the rules, from a seed.
type dice struct{ *rand.Rand }

func (d dice) one(in int) bool { return d.Intn(in) == 0 }

func (d dice) pick(of ...string) string { return of[d.Intn(len(of))] }

func (d dice) node(name string) *model.Node {
	n := node(name)
	if !d.one(6) {
		zone(d.pick("z1", "z2", "z3"))(n)
	}
	if d.one(4) {
		tainted("t", d.pick("x", "y"), []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[d.Intn(3)])(n)
	}
	if d.one(3) {
		n.Images = []model.Image{{Names: []string{"img"}, Size: int64(d.Intn(900)) << 20}}
	}
	n.Pods = int64(3 + d.Intn(8))
	n.Unschedulable = d.one(12)
	return n
}

func (d dice) term() model.PodTerm {
	t := near(d.pick("zone", HostnameKey), d.pick("web", "db"))
	if d.one(4) {
		t.Namespaces, t.NamespaceSelector = nil, []*model.Selector{{}, matches("team", "r")}[d.Intn(2)]
	}
	return t
}

func (d dice) pod(name string) *model.Pod {
	p := pod(name, app(d.pick("web", "db", "etl")), asks(int64(d.Intn(12))*100, int64(d.Intn(5))<<29), in(d.pick("default", "default", "red")))
	s := p.Spec
	s.Priority = int32(d.Intn(3))
	if d.one(3) {
		s.AntiAffinity = []model.PodTerm{d.term()}
	}
	if d.one(4) {
		s.Affinity = []model.PodTerm{d.term()}
	}
	if d.one(4) {
		s.PreferredAffinity = []model.WeightedPodTerm{{Weight: int32(1 + d.Intn(100)), Term: d.term()}}
	}
	if d.one(4) {
		s.PreferredAntiAffinity = []model.WeightedPodTerm{{Weight: int32(1 + d.Intn(100)), Term: d.term()}}
	}
	if d.one(3) {
		s.Spread = []model.SpreadConstraint{
			{TopologyKey: d.pick("zone", HostnameKey), MaxSkew: int32(1 + d.Intn(2)), MinDomains: int32(1 + d.Intn(3)), Hard: d.one(2),
				Selector: matches("app", d.pick("web", "db")), IgnoreAffinity: d.one(3), HonorTaints: d.one(3)},
			{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Selector: matches("app", "web")},
		}
	}
	if d.one(5) {
		s.Ports = []model.HostPort{{IP: d.pick(anyIP, "10.0.0.1", "10.0.0.2"), Protocol: "TCP", Port: 80}}
	}
	if d.one(3) {
		s.Tolerations = []model.Toleration{{Key: "t", Value: d.pick("x", "y"), Op: model.TolEqual}}
	}
	if d.one(4) {
		s.NodeSelector.Preferred = []model.WeightedNodeTerm{{Weight: 3, Term: labelIn("zone", "z1", "z2")}}
	}
	s.Images = []string{"img"}
	p.Deleting = d.one(10)
	return p
}

// world is some nodes, pods on them, a nominated pod and what groups them.
func (d dice) world() []any {
	objects := []any{model.Namespace{Name: "default"}, model.Namespace{Name: "red", Labels: model.Labels{{Key: "team", Value: "r"}}},
		model.Group{Kind: "Service", Namespace: "default", Name: "etl", Selector: matches("app", "etl")}}
	nodes := 2 + d.Intn(6)
	for i := range nodes {
		objects = append(objects, d.node(fmt.Sprint("n", i)))
	}
	for i := range d.Intn(20) {
		p := d.pod(fmt.Sprint("x", i))
		if p.NodeName = fmt.Sprint("n", d.Intn(nodes)); i == 0 {
			p.Nominated, p.NodeName = p.NodeName, ""
		}
		objects = append(objects, p)
	}
	return objects
}

func TestOrderOfArrivalDecidesNothing(t *testing.T) {
	c := profile(t)
	for seed := range int64(300) {
		d := dice{rand.New(rand.NewSource(seed))}
		objects, p := d.world(), d.pod("p")
		p.Deleting = false
		want := Evaluate(world(objects...), c, 1, p)
		d.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
		got := Evaluate(world(objects...), c, 1, p)
		got.Revision = want.Revision
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: in another order\n got %+v\nwant %+v", seed, got, want)
		}
	}
}

// A node judged as if some of its pods were gone gets the verdict that it gets
// when they are.
func TestCountingOutEqualsRemoval(t *testing.T) {
	c := profile(t)
	for seed := range int64(600) {
		d := dice{rand.New(rand.NewSource(seed))}
		s, p := world(d.world()...), d.pod("p")
		a := newAttempt(s, c, p)
		if !a.compile(&decision.Record{}) {
			continue
		}
		st := &a.sites[d.Intn(len(a.sites))]
		gone := slices.DeleteFunc(slices.Clone(st.pods), func(*model.Pod) bool { return d.one(2) })
		got := a.judge(st.with(nil, gone))

		f := s.Fork()
		for _, g := range gone {
			f.RemovePod(g.UID)
		}
		b := newAttempt(f, c, p)
		b.compile(&decision.Record{})
		if want := b.judge(b.siteNamed(st.node.Name)); got.Rule != want.Rule || got.Code != want.Code || decision.Texts(got.Reasons) != decision.Texts(want.Reasons) {
			t.Fatalf("seed %d: %s without %d pods\n got %+v\nwant %+v", seed, st.node.Name, len(gone), got, want)
		}
	}
}

// The total is the sum of the scores, every rule's points stay within 0 to 100
// times its weight, and the choice is among the top.
func TestScoresStayWithinBounds(t *testing.T) {
	c := profile(t)
	for seed := range int64(300) {
		d := dice{rand.New(rand.NewSource(seed))}
		p := d.pod("p")
		p.Deleting = false
		r := Evaluate(world(d.world()...), c, uint64(seed), p)
		for _, n := range r.Nodes {
			var total int64
			for _, s := range n.Scores {
				i := slices.IndexFunc(c.cfg.Score, func(w WeightedRule) bool { return w.Rule == s.Rule })
				if w := c.cfg.Score[i].Weight; s.Points < 0 || s.Points > 100*w || s.Points%w != 0 {
					t.Fatalf("seed %d: %s has %d points of %s, weight %d", seed, n.Name, s.Points, s.Rule, w)
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
