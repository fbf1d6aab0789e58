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
	t          *testing.T
	name       string
	state      *cluster.State
	engine     *Engine
	specs      []*model.PodSpec
	groupKey   string // label key that a spread group may select
	assigned   []*model.Pod
	nominated  []*model.Pod
	nodes      int
	serial     int
	decisions  int
	infeasible int // decisions without a feasible node
}

func newFuzzCluster(t *testing.T, seed uint64) *fuzzCluster {
	fc := &fuzzCluster{Generator: build.Generator{Rand: rand.New(rand.NewPCG(seed, 7))}, t: t, name: fmt.Sprint("seed ", seed), state: cluster.New()}
	fc.nodes = 3 + fc.IntN(40)
	for i := range fc.nodes {
		if !fc.OneIn(10) {
			fc.state.UpsertNode(fc.Node(i))
		}
	}
	for range 1 + fc.IntN(4) {
		s := fc.Spec()
		for fc.OneIn(3) && !fc.OneIn(4) { // similar equivalence classes
			c := *s
			if fc.OneIn(2) {
				c.Priority++
			} else {
				c.Requests.MilliCPU += 50
			}
			fc.specs = append(fc.specs, &c)
			s = &c
		}
		fc.specs = append(fc.specs, s)
	}
	fc.state.UpsertNamespace(model.Namespace{Name: "x", Labels: model.Labels{{Key: "team", Value: "a"}}})
	for range 12 {
		fc.AddStorage(fc.state)
	}
	for range fc.IntN(20) {
		fc.assign(fc.pod(), fmt.Sprint("node", fc.IntN(fc.nodes)))
	}
	cfg := fc.Config()
	p, err := framework.NewProfile(cfg)
	if err != nil {
		t.Fatal(err)
	}
	x := fc.state.Index()
	switch fc.IntN(3) { // topologies always fine-grained, never, or changing
	case 0:
		x.SetThresholds(0, 1000, fc.IntN(12))
	case 1:
		x.SetThresholds(1000, 1, fc.IntN(12))
	case 2:
		x.SetThresholds(1+fc.IntN(6), 1+fc.IntN(4), fc.IntN(12))
	}
	fc.engine = NewEngine(fc.state, p, seed)
	fc.engine.tune = tuning{maxLagPercent: 20 + fc.IntN(100), minLag: fc.IntN(300), rankListFraction: 1 + fc.IntN(32), minRankList: 1 + fc.IntN(4)}
	fc.groupKey = fc.Pick("app", "app", "app", "app", "app", "app", "app", "index")
	if fc.OneIn(3) {
		fc.engine.SetCacheLimit(1 << 16)
	}
	if fc.OneIn(8) {
		fc.engine.maxClasses = 4
	}
	if fc.OneIn(8) {
		fc.engine.resetObjects = 10
	}
	return fc
}

func (fc *fuzzCluster) pod() *model.Pod {
	fc.serial++
	labels := map[string]string{"app": fc.Pick("web", "web", "web", "db", "job"), "index": fmt.Sprint(fc.serial)}
	if fc.OneIn(5) {
		labels["v"] = fc.Pick("1", "2")
	}
	if fc.OneIn(20) {
		labels["rare"] = "1"
	}
	p := &model.Pod{Namespace: fc.Pick("x", "x", "x", "x", "x", "x", "y", "z"), Name: fmt.Sprint("p", fc.serial), UID: fmt.Sprint("u", fc.serial),
		Labels: model.LabelsOf(labels), Spec: fc.specs[fc.IntN(len(fc.specs))]}
	if fc.OneIn(4) {
		p.Owner = model.Owner{APIVersion: "apps/v1", Kind: fc.Pick("ReplicaSet", "Job"), Name: fc.Pick("web", "db")}
	}
	return p
}

// assign reports a pod as bound.
func (fc *fuzzCluster) assign(p *model.Pod, node string) {
	bound := *p
	bound.NodeName = node
	fc.state.UpsertPod(&bound)
	fc.assigned = append(fc.assigned, &bound)
}

// compare compares the decisions of both implementations about a pod.
func (fc *fuzzCluster) compare(p *model.Pod) (choice string) {
	var got decision.Summary
	fc.engine.Decide(p, &got)
	rec := placement.Evaluate(fc.state, fc.engine.profile, fc.engine.seed, p)
	want := *decision.Summarize(rec, fc.state.NumNodes())
	if len(got.ReasonCounts) == 0 {
		got.ReasonCounts = nil
	}
	if len(want.ReasonCounts) == 0 {
		want.ReasonCounts = nil
	}
	fc.decisions++
	if want.Feasible == 0 {
		fc.infeasible++
	}
	if !reflect.DeepEqual(got, want) {
		fc.compareNodes(p, rec)
		fc.t.Fatalf("%s decision %d (%+v):\nfast  %+v\nreference %+v\npod %+v\nspec %+v", fc.name, fc.decisions, fc.engine.counters, got, want, p, p.Spec)
	}
	return want.Choice
}

// compareNodes reports the nodes with different verdicts.
func (fc *fuzzCluster) compareNodes(p *model.Pod, rec *decision.Record) {
	ec := fc.engine.classOf(p)
	if ec.reference || ec.hasNames || len(rec.Nodes) == 0 {
		return
	}
	for i := range rec.Nodes {
		n := &rec.Nodes[i]
		id, _ := fc.state.NodeID(n.Name)
		var b nodeBucket
		f := ec.filter(fc.engine.index, id)
		if f == 0 {
			ec.readKey(id, &b.key)
			b.verdict = ec.filterBucket(&b)
		}
		if n.Verdict.IsSuccess() != (f == 0 && b.verdict == bucketFits) {
			for _, h := range ec.hard {
				least, domains := h.counter.Min()
				fc.t.Logf("hard %s: %d at %d, least %d of %d, skew %d self %d", h.counter.Topology.Key, h.counter.OnNode(id), b.key[h.slot], least, domains, h.maxSkew, h.selfMatch)
			}
			fc.t.Logf("%s: fast %d %d %v\nreference %+v", n.Name, f, b.verdict, b.key, n.Verdict)
		}
	}
}

// step performs one random change.
func (fc *fuzzCluster) step() {
	switch fc.IntN(24) {
	case 0:
		fc.state.UpsertNode(fc.Node(fc.IntN(fc.nodes)))
	case 1:
		if fc.OneIn(3) {
			fc.state.RemoveNode(fmt.Sprint("node", fc.IntN(fc.nodes)))
		}
	case 2, 3, 4, 9:
		fc.removePod()
	case 5:
		fc.changePod()
	case 6:
		fc.assign(fc.pod(), fmt.Sprint("node", fc.IntN(fc.nodes)))
	case 7:
		fc.changeOther()
	case 8:
		fc.changeNode()
	default:
		p := fc.pod()
		choice := fc.compare(p)
		if choice != "" && !fc.OneIn(10) {
			plan, err := fc.engine.VolumePlan(p, choice)
			if err != nil {
				fc.t.Fatalf("%s: planning the volumes of %s on %s: %v", fc.name, p.Name, choice, err)
			}
			fc.state.AssumeVolumes(p, plan)
			if err := fc.state.Assume(p, choice); err != nil {
				fc.t.Fatal(err)
			}
			switch {
			case fc.OneIn(20):
				fc.state.Forget(p.UID)
			case fc.OneIn(5): // assumed only
				assumed := *p
				assumed.NodeName = choice
				fc.assigned = append(fc.assigned, &assumed)
			default:
				fc.assign(p, choice)
			}
		}
	}
}

func (fc *fuzzCluster) removePod() {
	if len(fc.assigned) == 0 {
		return
	}
	i := fc.IntN(len(fc.assigned))
	fc.state.RemovePod(fc.assigned[i].UID)
	fc.assigned = slices.Delete(fc.assigned, i, i+1)
}

func (fc *fuzzCluster) changePod() {
	if len(fc.assigned) == 0 {
		return
	}
	i := fc.IntN(len(fc.assigned))
	updated := *fc.assigned[i]
	switch fc.IntN(4) {
	case 0:
		updated.Deleting = true
	case 1:
		updated.Labels = fc.pod().Labels
	case 2:
		updated.Ready = !updated.Ready
	case 3:
		updated.Phase = model.Succeeded
	}
	fc.state.UpsertPod(&updated)
	fc.assigned[i] = &updated
}

func (fc *fuzzCluster) changeNode() {
	ids := fc.state.NodeIDs()
	if len(ids) == 0 {
		return
	}
	n := *fc.state.Node(ids[fc.IntN(len(ids))]).Model
	other := fc.Node(fc.IntN(fc.nodes))
	switch fc.IntN(7) {
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
	fc.state.UpsertNode(&n)
}

// changeOther changes spread groups, namespaces, storage or nominations.
func (fc *fuzzCluster) changeOther() {
	switch fc.IntN(10) {
	case 9:
		fc.AddStorage(fc.state)
	case 0:
		fc.state.UpsertNamespace(model.Namespace{Name: fc.Pick("x", "y"), Labels: model.Labels{{Key: "team", Value: fc.Pick("a", "b")}}})
	case 1:
		fc.state.RemoveNamespace(fc.Pick("x", "x", "x", "y", "z"))
	case 2, 3:
		fc.state.UpsertSpreadGroup(model.SpreadGroup{Kind: fc.Pick("Service", "ReplicaSet"), Namespace: fc.Pick("x", "y"), Name: fc.Pick("web", "db"),
			Selector: build.Selector(fc.Pick("app", "app", "v", fc.groupKey), model.In, fc.Pick("web", "db", "1"))})
	case 4:
		fc.state.RemoveSpreadGroup(fc.Pick("Service", "ReplicaSet"), fc.Pick("x", "y"), fc.Pick("web", "db"))
	default:
		if fc.groupKey != "app" || fc.nodes%3 == 0 {
			fc.nominate()
		}
	}
}

// nominate removes some of the nominated pods and adds others.
func (fc *fuzzCluster) nominate() {
	for len(fc.nominated) > 0 && fc.OneIn(2) {
		p := fc.nominated[0]
		fc.nominated = fc.nominated[1:]
		fc.compare(p)
		fc.state.RemovePod(p.UID)
	}
	for len(fc.nominated) < 3 && !fc.OneIn(3) {
		fc.nominated = append(fc.nominated, fc.newNominated(fc.specs[fc.IntN(len(fc.specs))]))
	}
}

// newNominated adds a nominated pod to the state and returns it.
func (fc *fuzzCluster) newNominated(spec *model.PodSpec) *model.Pod {
	p := fc.pod()
	p.Spec, p.NominatedNodeName = spec, fmt.Sprint("node", fc.IntN(fc.nodes))
	fc.state.UpsertPod(p)
	return p
}

// TestFastPathEqualsReferenceWithNominatedPods compares decisions with many nominated pods
// that request resources only.
func TestFastPathEqualsReferenceWithNominatedPods(t *testing.T) {
	decided, cached, nominated := 0, 0, 0
	for seed := range uint64(build.SoakRounds(60)) {
		fc := newFuzzCluster(t, seed+1<<32)
		for i, s := range fc.specs {
			c := *s
			c.Affinity, c.AntiAffinity, c.Spread = nil, nil, nil
			fc.specs[i] = &c
		}
		for len(fc.assigned) > 0 {
			fc.removePod()
		}
		for range 4 {
			antiAffine := *fc.specs[0]
			antiAffine.AntiAffinity = []model.PodAffinityTerm{fc.PodTerm()}
			for range 60 {
				if fc.OneIn(3) {
					fc.nominate()
				}
				if fc.OneIn(40) {
					fc.nominated = append(fc.nominated, fc.newNominated(&antiAffine))
				}
				fc.step()
			}
		}
		c := fc.engine.counters
		decided, cached, nominated = decided+fc.decisions, cached+c.Cached, nominated+c.Nominated
	}
	t.Logf("soak: %d decisions, %d from caches, %d on nominated nodes", decided, cached, nominated)
	if cached < decided/5 || nominated < 10 {
		t.Errorf("%d decisions, %d from caches, %d on nominated nodes; want at least %d from caches and 10 on nominated nodes", decided, cached, nominated, decided/5)
	}
}

// TestFastPathEqualsReferenceLarge compares decisions with the thresholds of large
// clusters.
func TestFastPathEqualsReferenceLarge(t *testing.T) {
	for seed := range uint64(build.SoakRounds(12)) {
		fc := newFuzzCluster(t, seed+1<<33)
		fc.state.Index().SetThresholds(64, 128, 192)
		fc.nodes = 150 + fc.IntN(150)
		for i := range fc.nodes {
			fc.state.UpsertNode(fc.Node(i))
		}
		fc.engine = NewEngine(fc.state, fc.engine.profile, seed)
		for range 250 {
			fc.step()
		}
		t.Logf("soak: %d decisions on %d nodes, %d without a node, by %+v", fc.decisions, fc.nodes, fc.infeasible, fc.engine.counters)
	}
}

// TestFastPathEqualsReference compares decisions of the fast path with the reference
// evaluator: node, total, number of feasible nodes and histogram of reasons.
func TestFastPathEqualsReference(t *testing.T) {
	var all Counters
	decided, infeasible := 0, 0
	for seed := range uint64(build.SoakRounds(120)) {
		fc := newFuzzCluster(t, seed)
		for range 400 {
			fc.step()
		}
		c := fc.engine.counters
		all.Reference, all.NamedNodes, all.Scanned, all.WithVolumes = all.Reference+c.Reference, all.NamedNodes+c.NamedNodes, all.Scanned+c.Scanned, all.WithVolumes+c.WithVolumes
		all.SharedCache += c.SharedCache
		all.Cached, all.CachesBuilt, all.Nominated = all.Cached+c.Cached, all.CachesBuilt+c.CachesBuilt, all.Nominated+c.Nominated
		decided, infeasible = decided+fc.decisions, infeasible+fc.infeasible
	}
	t.Logf("soak: %d decisions, %d without a node, by %+v", decided, infeasible, all)
	if all.Cached < decided/4 || all.SharedCache < decided/10 || all.Scanned < decided/100 || infeasible < decided/20 {
		t.Errorf("%d decisions, %d without a node, by %+v; want at least a quarter cached, a tenth by shared caches, 1%% scanned and 5%% without a node", decided, infeasible, all)
	}
}
