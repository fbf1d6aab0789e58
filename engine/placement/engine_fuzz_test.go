package placement

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// arena is a random cluster with a fast engine on it.
type arena struct {
	draw
	t        *testing.T
	name     string
	state    *cluster.State
	engine   *Engine
	specs    []*model.PodSpec
	oddKey   string // that a group may select by
	placed   []*model.Pod
	nominees []*model.Pod
	nodes    int
	serial   int
	asked    int
	full     int // decisions without any feasible node
}

func newArena(t *testing.T, seed uint64) *arena {
	ar := &arena{draw: draw{rand.New(rand.NewPCG(seed, 7))}, t: t, name: fmt.Sprint("seed ", seed), state: cluster.New()}
	ar.nodes = 3 + ar.IntN(40)
	for i := range ar.nodes {
		if !ar.one(10) {
			ar.state.UpsertNode(ar.node(i))
		}
	}
	for range 1 + ar.IntN(4) {
		s := ar.spec()
		for ar.one(3) && !ar.one(4) { // shapes that differ in little
			c := *s
			if ar.one(2) {
				c.Priority++
			} else {
				c.Requests.MilliCPU += 50
			}
			ar.specs = append(ar.specs, &c)
			s = &c
		}
		ar.specs = append(ar.specs, s)
	}
	ar.state.UpsertNamespace(model.Namespace{Name: "x", Labels: model.Labels{{Key: "team", Value: "a"}}})
	for range 12 {
		ar.storage(ar.state)
	}
	for range ar.IntN(20) {
		ar.place(ar.pod(), fmt.Sprint("node", ar.IntN(ar.nodes)))
	}
	cfg := ar.config()
	p, err := NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := ar.state.Index()
	switch ar.IntN(3) { // columns always fine, never, or changing their minds
	case 0:
		x.Tune(0, 1000, ar.IntN(12))
	case 1:
		x.Tune(1000, 1, ar.IntN(12))
	case 2:
		x.Tune(1+ar.IntN(6), 1+ar.IntN(4), ar.IntN(12))
	}
	ar.engine = NewEngine(ar.state, p, seed)
	ar.engine.tune = tuning{behind: 20 + ar.IntN(100), least: ar.IntN(300), sets: 1 + ar.IntN(32), listed: 1 + ar.IntN(4)}
	ar.oddKey = ar.pick("app", "app", "app", "app", "app", "app", "app", "index")
	if ar.one(3) {
		ar.engine.SetRoom(1 << 16)
	}
	if ar.one(8) {
		ar.engine.keep = 4
	}
	if ar.one(8) {
		ar.engine.tidyThings = 10
	}
	return ar
}

func (ar *arena) pod() *model.Pod {
	ar.serial++
	labels := map[string]string{"app": ar.pick("web", "web", "web", "db", "job"), "index": fmt.Sprint(ar.serial)}
	if ar.one(5) {
		labels["v"] = ar.pick("1", "2")
	}
	if ar.one(20) {
		labels["rare"] = "1"
	}
	p := &model.Pod{Namespace: ar.pick("x", "x", "x", "x", "x", "x", "y", "z"), Name: fmt.Sprint("p", ar.serial), UID: fmt.Sprint("u", ar.serial),
		Labels: model.LabelsOf(labels), Spec: ar.specs[ar.IntN(len(ar.specs))]}
	if ar.one(4) {
		p.Owner = model.Owner{APIVersion: "apps/v1", Kind: ar.pick("ReplicaSet", "Job"), Name: ar.pick("web", "db")}
	}
	return p
}

// place puts a pod on a node as seen from the API.
func (ar *arena) place(p *model.Pod, node string) {
	q := *p
	q.NodeName = node
	ar.state.UpsertPod(&q)
	ar.placed = append(ar.placed, &q)
}

// ask decides about a pod both ways and compares.
func (ar *arena) ask(p *model.Pod) (choice string) {
	var got decision.Summary
	ar.engine.Decide(p, &got)
	rec := Evaluate(ar.state, ar.engine.profile, ar.engine.seed, p)
	want := *Summarize(rec, ar.state.NumNodes())
	got.Counts, want.Counts = slices.Clip(got.Counts), slices.Clip(want.Counts)
	if len(got.Counts) == 0 {
		got.Counts, want.Counts = nil, want.Counts[:len(want.Counts):len(want.Counts)]
	}
	if len(want.Counts) == 0 {
		want.Counts = nil
	}
	ar.asked++
	if want.Feasible == 0 {
		ar.full++
	}
	if !reflect.DeepEqual(got, want) {
		ar.compareNodes(p, rec)
		ar.t.Fatalf("%s decision %d (%+v):\nfast  %+v\nplain %+v\npod %+v\nspec %+v", ar.name, ar.asked, ar.engine.counters, got, want, p, p.Spec)
	}
	return want.Choice
}

// compareNodes says on which nodes the two disagree.
func (ar *arena) compareNodes(p *model.Pod, rec *decision.Record) {
	sh := ar.engine.shapeOf(p)
	if sh.plain || sh.narrowed || len(rec.Nodes) == 0 {
		return
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		id, _ := ar.state.NodeID(n.Name)
		var b bucket
		f := sh.judge(ar.engine.index, id)
		if f == 0 {
			sh.read(id, &b.of)
			b.verdict = sh.verdict(&b)
		}
		if n.Verdict.Fits() != (f == 0 && b.verdict == fits) {
			for _, h := range sh.hard {
				least, domains := h.counter.Min()
				ar.t.Logf("hard %s: %d at %d, least %d of %d, skew %d self %d", h.counter.Column.Key, h.counter.At(id), b.of[h.slot], least, domains, h.maxSkew, h.self)
			}
			ar.t.Logf("%s: fast %d %d %v\nplain %+v", n.Name, f, b.verdict, b.of, n.Verdict)
		}
	}
}

// step does one random thing.
func (ar *arena) step() {
	switch ar.IntN(24) {
	case 0:
		ar.state.UpsertNode(ar.node(ar.IntN(ar.nodes)))
	case 1:
		if ar.one(3) {
			ar.state.RemoveNode(fmt.Sprint("node", ar.IntN(ar.nodes)))
		}
	case 2, 3, 4, 9:
		ar.removePod()
	case 5:
		ar.changePod()
	case 6:
		ar.place(ar.pod(), fmt.Sprint("node", ar.IntN(ar.nodes)))
	case 7:
		ar.changeOther()
	case 8:
		ar.changeNode()
	default:
		p := ar.pod()
		choice := ar.ask(p)
		if choice != "" && !ar.one(10) {
			plan, err := ar.engine.Volumes(p, choice)
			if err != nil {
				ar.t.Fatalf("%s: volumes of what was chosen: %v", ar.name, err)
			}
			ar.state.AssumeVolumes(p, plan)
			if err := ar.state.Assume(p, choice); err != nil {
				ar.t.Fatal(err)
			}
			switch {
			case ar.one(20):
				ar.state.Forget(p.UID)
			case ar.one(5): // not seen bound yet
				q := *p
				q.NodeName = choice
				ar.placed = append(ar.placed, &q)
			default:
				ar.place(p, choice)
			}
		}
	}
}

func (ar *arena) removePod() {
	if len(ar.placed) == 0 {
		return
	}
	i := ar.IntN(len(ar.placed))
	ar.state.RemovePod(ar.placed[i].UID)
	ar.placed = slices.Delete(ar.placed, i, i+1)
}

func (ar *arena) changePod() {
	if len(ar.placed) == 0 {
		return
	}
	i := ar.IntN(len(ar.placed))
	q := *ar.placed[i]
	switch ar.IntN(4) {
	case 0:
		q.Deleting = true
	case 1:
		q.Labels = ar.pod().Labels
	case 2:
		q.Ready = !q.Ready
	case 3:
		q.Phase = model.Succeeded
	}
	ar.state.UpsertPod(&q)
	ar.placed[i] = &q
}

// changeNode changes one thing of a node, or nothing.
func (ar *arena) changeNode() {
	ids := ar.state.NodeIDs()
	if len(ids) == 0 {
		return
	}
	n := *ar.state.Node(ids[ar.IntN(len(ids))]).Model
	other := ar.node(ar.IntN(ar.nodes))
	switch ar.IntN(7) {
	case 0:
		n.Taints = other.Taints
	case 1:
		n.Unschedulable = !n.Unschedulable
	case 2:
		n.Labels = other.Labels
	case 3:
		n.Allocatable = other.Allocatable
	case 4:
		n.Pods = other.Pods
	case 5:
		n.Images = other.Images
	}
	ar.state.UpsertNode(&n)
}

// changeOther changes groups, namespaces and nominations.
func (ar *arena) changeOther() {
	switch ar.IntN(10) {
	case 9:
		ar.storage(ar.state)
	case 0:
		ar.state.UpsertNamespace(model.Namespace{Name: ar.pick("x", "y"), Labels: model.Labels{{Key: "team", Value: ar.pick("a", "b")}}})
	case 1:
		ar.state.RemoveNamespace(ar.pick("x", "x", "x", "y", "z"))
	case 2, 3:
		ar.state.UpsertGroup(model.Group{Kind: ar.pick("Service", "ReplicaSet"), Namespace: ar.pick("x", "y"), Name: ar.pick("web", "db"),
			Selector: sel(ar.pick("app", "app", "v", ar.oddKey), model.In, ar.pick("web", "db", "1"))})
	case 4:
		ar.state.RemoveGroup(ar.pick("Service", "ReplicaSet"), ar.pick("x", "y"), ar.pick("web", "db"))
	default:
		if ar.oddKey != "app" || ar.nodes%3 == 0 {
			ar.nominate()
		}
	}
}

// nominate nominates pods to nodes, or ends a nomination.
func (ar *arena) nominate() {
	for len(ar.nominees) > 0 && ar.one(2) {
		p := ar.nominees[0]
		ar.nominees = ar.nominees[1:]
		ar.ask(p)
		ar.state.RemovePod(p.UID)
	}
	for len(ar.nominees) < 3 && !ar.one(3) {
		ar.nominees = append(ar.nominees, ar.nominee(ar.specs[ar.IntN(len(ar.specs))]))
	}
}

func (ar *arena) nominee(spec *model.PodSpec) *model.Pod {
	p := ar.pod()
	p.Spec, p.Nominated = spec, fmt.Sprint("node", ar.IntN(ar.nodes))
	ar.state.UpsertPod(p)
	return p
}

// TestFastEqualsPlainBesideNominated does so where pods are nominated all the
// time and want little but room.
func TestFastEqualsPlainBesideNominated(t *testing.T) {
	asked, viewed, alone := 0, 0, 0
	for seed := range uint64(soakRounds(60)) {
		ar := newArena(t, seed+1<<32)
		for i, s := range ar.specs {
			c := *s
			c.Affinity, c.AntiAffinity, c.Spread = nil, nil, nil
			ar.specs[i] = &c
		}
		for len(ar.placed) > 0 {
			ar.removePod()
		}
		for range 4 {
			repels := *ar.specs[0]
			repels.AntiAffinity = []model.PodTerm{ar.podTerm()}
			for range 60 {
				if ar.one(3) {
					ar.nominate()
				}
				if ar.one(40) {
					ar.nominees = append(ar.nominees, ar.nominee(&repels))
				}
				ar.step()
			}
		}
		c := ar.engine.counters
		asked, viewed, alone = asked+ar.asked, viewed+c.Viewed, alone+c.Nominated
	}
	t.Logf("soak: %d decisions, %d by views, %d for the own nominated node", asked, viewed, alone)
	if viewed < asked/5 || alone < 10 {
		t.Errorf("the comparison lost its grip: %d decisions, %d by views, %d for the own nominated node", asked, viewed, alone)
	}
}

// TestFastEqualsPlainLarge does so at the sizes at which real clusters change
// from one structure to the other.
func TestFastEqualsPlainLarge(t *testing.T) {
	for seed := range uint64(soakRounds(12)) {
		ar := newArena(t, seed+1<<33)
		ar.state.Index().Tune(64, 128, 192)
		ar.nodes = 150 + ar.IntN(150)
		for i := range ar.nodes {
			ar.state.UpsertNode(ar.node(i))
		}
		ar.engine = NewEngine(ar.state, ar.engine.profile, seed)
		for range 250 {
			ar.step()
		}
		t.Logf("soak: %d decisions on %d nodes, %d without a node, by %+v", ar.asked, ar.nodes, ar.full, ar.engine.counters)
	}
}

// TestFastEqualsPlain compares every decision of the fast path with the plain
// path's: node, total, number of feasible nodes, histogram of reasons.
func TestFastEqualsPlain(t *testing.T) {
	var all Counters
	asked, full := 0, 0
	for seed := range uint64(soakRounds(120)) {
		ar := newArena(t, seed)
		for range 400 {
			ar.step()
		}
		c := ar.engine.counters
		all.Plain, all.Narrow, all.Scanned, all.Stored = all.Plain+c.Plain, all.Narrow+c.Narrow, all.Scanned+c.Scanned, all.Stored+c.Stored
		all.Shared += c.Shared
		all.Viewed, all.Built, all.Nominated = all.Viewed+c.Viewed, all.Built+c.Built, all.Nominated+c.Nominated
		asked, full = asked+ar.asked, full+ar.full
	}
	t.Logf("soak: %d decisions, %d without a node, by %+v", asked, full, all)
	if all.Viewed < asked/4 || all.Shared < asked/10 || all.Scanned < asked/100 || full < asked/20 {
		t.Errorf("the comparison lost its grip: %d decisions, %d without a node, by %+v", asked, full, all)
	}
}
