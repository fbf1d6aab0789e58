package fastpath

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/internal/testkit/build"
)

// fuzzCluster is a random cluster with an Engine.
type fuzzCluster struct {
	build.Generator
	t         *testing.T
	name      string
	state     *cluster.State
	engine    *Engine
	specs     []*model.PodSpec
	oddKey    string // label key that a spread group may select
	placed    []*model.Pod
	nominees  []*model.Pod
	nodes     int
	serial    int
	decisions int
	full      int // decisions without a feasible node
}

func newFuzzCluster(t *testing.T, seed uint64) *fuzzCluster {
	ar := &fuzzCluster{Generator: build.Generator{Rand: rand.New(rand.NewPCG(seed, 7))}, t: t, name: fmt.Sprint("seed ", seed), state: cluster.New()}
	ar.nodes = 3 + ar.IntN(40)
	for i := range ar.nodes {
		if !ar.OneIn(10) {
			ar.state.UpsertNode(ar.Node(i))
		}
	}
	for range 1 + ar.IntN(4) {
		s := ar.Spec()
		for ar.OneIn(3) && !ar.OneIn(4) { // similar equivalence classes
			c := *s
			if ar.OneIn(2) {
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
		ar.Storage(ar.state)
	}
	for range ar.IntN(20) {
		ar.place(ar.pod(), fmt.Sprint("node", ar.IntN(ar.nodes)))
	}
	cfg := ar.Config()
	p, err := framework.NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := ar.state.Index()
	switch ar.IntN(3) { // topologies always fine-grained, never, or changing
	case 0:
		x.SetThresholds(0, 1000, ar.IntN(12))
	case 1:
		x.SetThresholds(1000, 1, ar.IntN(12))
	case 2:
		x.SetThresholds(1+ar.IntN(6), 1+ar.IntN(4), ar.IntN(12))
	}
	ar.engine = NewEngine(ar.state, p, seed)
	ar.engine.tune = tuning{maxLagPercent: 20 + ar.IntN(100), minLag: ar.IntN(300), rankListFraction: 1 + ar.IntN(32), minRankList: 1 + ar.IntN(4)}
	ar.oddKey = ar.Pick("app", "app", "app", "app", "app", "app", "app", "index")
	if ar.OneIn(3) {
		ar.engine.SetCacheLimit(1 << 16)
	}
	if ar.OneIn(8) {
		ar.engine.maxClasses = 4
	}
	if ar.OneIn(8) {
		ar.engine.resetObjects = 10
	}
	return ar
}

func (ar *fuzzCluster) pod() *model.Pod {
	ar.serial++
	labels := map[string]string{"app": ar.Pick("web", "web", "web", "db", "job"), "index": fmt.Sprint(ar.serial)}
	if ar.OneIn(5) {
		labels["v"] = ar.Pick("1", "2")
	}
	if ar.OneIn(20) {
		labels["rare"] = "1"
	}
	p := &model.Pod{Namespace: ar.Pick("x", "x", "x", "x", "x", "x", "y", "z"), Name: fmt.Sprint("p", ar.serial), UID: fmt.Sprint("u", ar.serial),
		Labels: model.LabelsOf(labels), Spec: ar.specs[ar.IntN(len(ar.specs))]}
	if ar.OneIn(4) {
		p.Owner = model.Owner{APIVersion: "apps/v1", Kind: ar.Pick("ReplicaSet", "Job"), Name: ar.Pick("web", "db")}
	}
	return p
}

// place assigns a pod as if reported by the API.
func (ar *fuzzCluster) place(p *model.Pod, node string) {
	q := *p
	q.NodeName = node
	ar.state.UpsertPod(&q)
	ar.placed = append(ar.placed, &q)
}

// compare compares the decisions of both implementations about a pod.
func (ar *fuzzCluster) compare(p *model.Pod) (choice string) {
	var got decision.Summary
	ar.engine.Decide(p, &got)
	rec := placement.Evaluate(ar.state, ar.engine.profile, ar.engine.seed, p)
	want := *decision.Summarize(rec, ar.state.NumNodes())
	got.ReasonCounts, want.ReasonCounts = slices.Clip(got.ReasonCounts), slices.Clip(want.ReasonCounts)
	if len(got.ReasonCounts) == 0 {
		got.ReasonCounts, want.ReasonCounts = nil, want.ReasonCounts[:len(want.ReasonCounts):len(want.ReasonCounts)]
	}
	if len(want.ReasonCounts) == 0 {
		want.ReasonCounts = nil
	}
	ar.decisions++
	if want.Feasible == 0 {
		ar.full++
	}
	if !reflect.DeepEqual(got, want) {
		ar.compareNodes(p, rec)
		ar.t.Fatalf("%s decision %d (%+v):\nfast  %+v\nreference %+v\npod %+v\nspec %+v", ar.name, ar.decisions, ar.engine.counters, got, want, p, p.Spec)
	}
	return want.Choice
}

// compareNodes reports the nodes with different verdicts.
func (ar *fuzzCluster) compareNodes(p *model.Pod, rec *decision.Record) {
	ec := ar.engine.classOf(p)
	if ec.reference || ec.hasNames || len(rec.Nodes) == 0 {
		return
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		id, _ := ar.state.NodeID(n.Name)
		var b nodeBucket
		f := ec.filter(ar.engine.index, id)
		if f == 0 {
			ec.readKey(id, &b.key)
			b.verdict = ec.filterBucket(&b)
		}
		if n.Verdict.IsSuccess() != (f == 0 && b.verdict == bucketFits) {
			for _, h := range ec.hard {
				least, domains := h.counter.Min()
				ar.t.Logf("hard %s: %d at %d, least %d of %d, skew %d self %d", h.counter.Topology.Key, h.counter.OnNode(id), b.key[h.slot], least, domains, h.maxSkew, h.selfMatch)
			}
			ar.t.Logf("%s: fast %d %d %v\nreference %+v", n.Name, f, b.verdict, b.key, n.Verdict)
		}
	}
}

// step performs one random change.
func (ar *fuzzCluster) step() {
	switch ar.IntN(24) {
	case 0:
		ar.state.UpsertNode(ar.Node(ar.IntN(ar.nodes)))
	case 1:
		if ar.OneIn(3) {
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
		choice := ar.compare(p)
		if choice != "" && !ar.OneIn(10) {
			plan, err := ar.engine.VolumePlan(p, choice)
			if err != nil {
				ar.t.Fatalf("%s: volumes of what was chosen: %v", ar.name, err)
			}
			ar.state.AssumeVolumes(p, plan)
			if err := ar.state.Assume(p, choice); err != nil {
				ar.t.Fatal(err)
			}
			switch {
			case ar.OneIn(20):
				ar.state.Forget(p.UID)
			case ar.OneIn(5): // assumed only
				q := *p
				q.NodeName = choice
				ar.placed = append(ar.placed, &q)
			default:
				ar.place(p, choice)
			}
		}
	}
}

func (ar *fuzzCluster) removePod() {
	if len(ar.placed) == 0 {
		return
	}
	i := ar.IntN(len(ar.placed))
	ar.state.RemovePod(ar.placed[i].UID)
	ar.placed = slices.Delete(ar.placed, i, i+1)
}

func (ar *fuzzCluster) changePod() {
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

// changeNode changes one property of a node, or nothing.
func (ar *fuzzCluster) changeNode() {
	ids := ar.state.NodeIDs()
	if len(ids) == 0 {
		return
	}
	n := *ar.state.Node(ids[ar.IntN(len(ids))]).Model
	other := ar.Node(ar.IntN(ar.nodes))
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
		n.AllocatablePods = other.AllocatablePods
	case 5:
		n.Images = other.Images
	}
	ar.state.UpsertNode(&n)
}

// changeOther changes spread groups, namespaces and nominations.
func (ar *fuzzCluster) changeOther() {
	switch ar.IntN(10) {
	case 9:
		ar.Storage(ar.state)
	case 0:
		ar.state.UpsertNamespace(model.Namespace{Name: ar.Pick("x", "y"), Labels: model.Labels{{Key: "team", Value: ar.Pick("a", "b")}}})
	case 1:
		ar.state.RemoveNamespace(ar.Pick("x", "x", "x", "y", "z"))
	case 2, 3:
		ar.state.UpsertSpreadGroup(model.SpreadGroup{Kind: ar.Pick("Service", "ReplicaSet"), Namespace: ar.Pick("x", "y"), Name: ar.Pick("web", "db"),
			Selector: build.Selector(ar.Pick("app", "app", "v", ar.oddKey), model.In, ar.Pick("web", "db", "1"))})
	case 4:
		ar.state.RemoveSpreadGroup(ar.Pick("Service", "ReplicaSet"), ar.Pick("x", "y"), ar.Pick("web", "db"))
	default:
		if ar.oddKey != "app" || ar.nodes%3 == 0 {
			ar.nominate()
		}
	}
}

// nominate nominates a pod to a node, or ends a nomination.
func (ar *fuzzCluster) nominate() {
	for len(ar.nominees) > 0 && ar.OneIn(2) {
		p := ar.nominees[0]
		ar.nominees = ar.nominees[1:]
		ar.compare(p)
		ar.state.RemovePod(p.UID)
	}
	for len(ar.nominees) < 3 && !ar.OneIn(3) {
		ar.nominees = append(ar.nominees, ar.nominee(ar.specs[ar.IntN(len(ar.specs))]))
	}
}

func (ar *fuzzCluster) nominee(spec *model.PodSpec) *model.Pod {
	p := ar.pod()
	p.Spec, p.NominatedNodeName = spec, fmt.Sprint("node", ar.IntN(ar.nodes))
	ar.state.UpsertPod(p)
	return p
}

// TestFastPathEqualsReferenceWithNominatedPods compares decisions with many nominated pods
// that request resources only.
func TestFastPathEqualsReferenceWithNominatedPods(t *testing.T) {
	decided, cached, nominated := 0, 0, 0
	for seed := range uint64(build.SoakRounds(60)) {
		ar := newFuzzCluster(t, seed+1<<32)
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
			repels.AntiAffinity = []model.PodAffinityTerm{ar.PodTerm()}
			for range 60 {
				if ar.OneIn(3) {
					ar.nominate()
				}
				if ar.OneIn(40) {
					ar.nominees = append(ar.nominees, ar.nominee(&repels))
				}
				ar.step()
			}
		}
		c := ar.engine.counters
		decided, cached, nominated = decided+ar.decisions, cached+c.Cached, nominated+c.Nominated
	}
	t.Logf("soak: %d decisions, %d from caches, %d for the own nominated node", decided, cached, nominated)
	if cached < decided/5 || nominated < 10 {
		t.Errorf("too few cases: %d decisions, %d from caches, %d for the own nominated node", decided, cached, nominated)
	}
}

// TestFastPathEqualsReferenceLarge compares decisions with the thresholds of large
// clusters.
func TestFastPathEqualsReferenceLarge(t *testing.T) {
	for seed := range uint64(build.SoakRounds(12)) {
		ar := newFuzzCluster(t, seed+1<<33)
		ar.state.Index().SetThresholds(64, 128, 192)
		ar.nodes = 150 + ar.IntN(150)
		for i := range ar.nodes {
			ar.state.UpsertNode(ar.Node(i))
		}
		ar.engine = NewEngine(ar.state, ar.engine.profile, seed)
		for range 250 {
			ar.step()
		}
		t.Logf("soak: %d decisions on %d nodes, %d without a node, by %+v", ar.decisions, ar.nodes, ar.full, ar.engine.counters)
	}
}

// TestFastPathEqualsReference compares decisions of the fast path with the reference
// evaluator: node, total, number of feasible nodes and histogram of reasons.
func TestFastPathEqualsReference(t *testing.T) {
	var all Counters
	decided, full := 0, 0
	for seed := range uint64(build.SoakRounds(120)) {
		ar := newFuzzCluster(t, seed)
		for range 400 {
			ar.step()
		}
		c := ar.engine.counters
		all.Reference, all.NamedNodes, all.Scanned, all.WithVolumes = all.Reference+c.Reference, all.NamedNodes+c.NamedNodes, all.Scanned+c.Scanned, all.WithVolumes+c.WithVolumes
		all.SharedCache += c.SharedCache
		all.Cached, all.CachesBuilt, all.Nominated = all.Cached+c.Cached, all.CachesBuilt+c.CachesBuilt, all.Nominated+c.Nominated
		decided, full = decided+ar.decisions, full+ar.full
	}
	t.Logf("soak: %d decisions, %d without a node, by %+v", decided, full, all)
	if all.Cached < decided/4 || all.SharedCache < decided/10 || all.Scanned < decided/100 || full < decided/20 {
		t.Errorf("too few cases: %d decisions, %d without a node, by %+v", decided, full, all)
	}
}
