package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/preemption"
)

// randomCluster is a random cluster whose pods are created, changed and deleted.
type randomCluster struct {
	*rand.Rand
	state  *cluster.State
	specs  []*model.PodSpec
	pods   []*model.Pod // assigned or pending
	serial int
	nodes  int
	even   bool // see newEvenCluster
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func one[T any](w *randomCluster, values ...T) T { return values[w.IntN(len(values))] }

func (w *randomCluster) chance(p float64) bool { return w.Float64() < p }

func newRandomCluster(seed uint64) *randomCluster {
	w := &randomCluster{Rand: rand.New(rand.NewPCG(seed, 77)), state: cluster.New()}
	w.nodes = w.IntN(12) + 2
	if w.chance(0.1) {
		w.nodes += 30
	}
	for i := range w.nodes {
		w.node(i)
	}
	w.claims()
	for range w.IntN(12) + 2 {
		w.specs = append(w.specs, w.spec())
	}
	for range w.IntN(40) + 3*w.nodes {
		w.run()
	}
	for range w.IntN(4) {
		w.budget()
	}
	return w
}

func (w *randomCluster) node(i int) {
	n := &model.Node{Name: fmt.Sprintf("n%02d", i), AllocatablePods: one[int64](w, 110, 6, 4, 3),
		Allocatable: model.Resources{MilliCPU: one[int64](w, 4000, 2000, 1000), Memory: one[int64](w, 8, 4, 2) << 30, Ephemeral: 10 << 30}}
	labels := map[string]string{framework.HostnameKey: n.Name, "zone": one(w, "a", "b")}
	n.Labels = model.LabelsOf(labels)
	if w.chance(0.3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "example.com/gpu", Amount: one[int64](w, 1, 2, 4)}}
	}
	if w.chance(0.1) {
		n.Taints = []model.Taint{{Key: "dedicated", Effect: model.NoSchedule}}
	}
	n.Unschedulable = w.chance(0.05)
	w.state.UpsertNode(n)
}

func (w *randomCluster) spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: one(w, "default-scheduler", "default-scheduler", "default-scheduler", "other"),
		Priority: one[int32](w, -5, 0, 0, 5, 5, 10, 100, 100), NeverPreempts: w.chance(0.05)}
	s.Requests = model.Resources{MilliCPU: one[int64](w, 0, 100, 300, 500, 500, 1000, 2500), Memory: one[int64](w, 0, 1, 1, 2, 3) << 29}
	if w.chance(0.15) {
		s.Requests.Ephemeral = one[int64](w, 1, 4) << 30
	}
	if w.chance(0.15) {
		s.Requests.Scalars = []model.Scalar{{Name: "example.com/gpu", Amount: one[int64](w, 1, 2)}}
	}
	s.Scoring = s.Requests
	if w.chance(0.15) {
		s.Ports = []model.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: one[int32](w, 80, 81)}}
	}
	if w.chance(0.2) {
		s.Tolerations = []model.Toleration{{Key: "dedicated", Op: model.TolExists}}
	}
	if w.chance(0.1) {
		s.AntiAffinity = []model.PodAffinityTerm{{TopologyKey: one(w, framework.HostnameKey, "zone"), Selector: of("app", one(w, "a", "b")), Namespaces: []string{"default"}}}
	}
	if w.chance(0.1) {
		s.Spread = []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true, Selector: of("app", one(w, "a", "b"))}}
	}
	w.addRareConstraints(s)
	return s
}

// addRareConstraints adds to a specification what limits the nodes or relates them to one pod.
func (w *randomCluster) addRareConstraints(s *model.PodSpec) {
	if w.chance(0.06) {
		name := model.Requirement{Key: "metadata.name", Op: model.In, Values: []string{one(w, "n00", "n01", "n03", "gone")}}
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{name}}, {Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{"n00"}}}}}
	}
	if w.chance(0.06) {
		s.Claims = []model.PodClaim{{Volume: "data", Claim: one(w, "alone", "shared")}}
	}
}

// claims creates the claims that pods use: one for a single pod, one for several.
func (w *randomCluster) claims() {
	for name, modes := range map[string]model.AccessModes{"alone": model.ReadWriteOncePod, "shared": model.ReadWriteMany} {
		w.state.UpsertPV(&model.PersistentVolume{Name: "pv-" + name, AccessModes: modes, Claim: model.ClaimRef{Namespace: "default", Name: name}})
		w.state.UpsertPVC(&model.PersistentVolumeClaim{Namespace: "default", Name: name, VolumeName: "pv-" + name, Bound: true, AccessModes: modes})
	}
}

func of(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}

func (w *randomCluster) pod() *model.Pod {
	w.serial++
	p := &model.Pod{Namespace: one(w, "default", "default", "team"), Name: fmt.Sprintf("p%d", w.serial), UID: fmt.Sprintf("uid-%d", w.IntN(1<<30)),
		Labels: model.LabelsOf(map[string]string{"app": one(w, "a", "b", "c")}), Spec: one(w, w.specs...)}
	if w.chance(0.3) {
		p.Owner = model.Owner{APIVersion: "apps/v1", Kind: one(w, "DaemonSet", "ReplicaSet"), Name: "o", UID: one(w, "o1", "o2")}
	}
	return p
}

// run assigns a new pod to some node.
func (w *randomCluster) run() { w.runOn(w.IntN(w.nodes)) }

func (w *randomCluster) runOn(node int) {
	p := w.pod()
	p.NodeName = fmt.Sprintf("n%02d", node)
	p.Phase, p.Ready = model.Running, w.chance(0.8)
	if w.chance(0.8) {
		p.Started = epoch.Add(time.Duration(w.IntN(5)) * time.Second)
	}
	w.pods = append(w.pods, p)
	w.state.UpsertPod(p)
}

// wait adds a pending pod, sometimes nominated.
func (w *randomCluster) wait() *model.Pod {
	p := w.pod()
	if w.chance(0.3) {
		p.NominatedNodeName = fmt.Sprintf("n%02d", w.IntN(w.nodes+1))
	}
	w.pods = append(w.pods, p)
	w.state.UpsertPod(p)
	return p
}

func (w *randomCluster) budget() {
	b := &model.Budget{Namespace: one(w, "default", "team"), Name: fmt.Sprintf("b%d", w.IntN(4)), DisruptionsAllowed: int32(w.IntN(4)),
		DesiredHealthy: int32(w.IntN(one(w, 3, 12))), Generation: 1, ObservedGeneration: one[int64](w, 1, 1, 1, 0)}
	switch w.IntN(6) {
	case 0:
		b.Selector = &model.Selector{}
	case 1:
	default:
		b.Selector = of("app", one(w, "a", "b"))
	}
	for range w.IntN(3) {
		if len(w.pods) > 0 {
			b.Disrupted = append(b.Disrupted, one(w, w.pods...).Name)
		}
	}
	slices.Sort(b.Disrupted)
	b.Disrupted = slices.Compact(b.Disrupted)
	w.state.UpsertBudget(b)
}

// change makes one random change.
func (w *randomCluster) change() {
	if w.even {
		w.evenChange()
		return
	}
	if len(w.pods) == 0 {
		w.run()
		return
	}
	i := w.IntN(len(w.pods))
	p := *w.pods[i]
	switch w.IntN(13) {
	case 0, 1:
		w.run()
		return
	case 2:
		w.wait()
		return
	case 3, 4:
		w.state.RemovePod(p.UID)
		w.pods = slices.Delete(w.pods, i, i+1)
		return
	case 5:
		p.Deleting, p.DisruptionReason = true, one(w, "", "PreemptionByScheduler")
	case 6:
		p.Ready = !p.Ready
	case 7:
		p.Started = epoch.Add(time.Duration(w.IntN(5)) * time.Second)
	case 8:
		p.Labels = model.LabelsOf(map[string]string{"app": one(w, "a", "b", "c"), "x": one(w, "1", "2")})
	case 9:
		if p.NodeName == "" {
			p.NominatedNodeName = one(w, "", fmt.Sprintf("n%02d", w.IntN(w.nodes)))
		}
	case 10:
		w.budget()
		return
	case 11:
		switch w.IntN(4) {
		case 0:
			w.state.RemoveNode(fmt.Sprintf("n%02d", w.IntN(w.nodes)))
		case 1:
			w.state.RemoveBudget(one(w, "default", "team"), fmt.Sprintf("b%d", w.IntN(4)))
		default:
			w.node(w.IntN(w.nodes))
		}
		return
	case 12:
		p.Phase = one(w, model.Running, model.Running, model.Succeeded)
	}
	w.pods[i] = &p
	w.state.UpsertPod(&p)
}

func profile() *framework.Profile {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		panic(err)
	}
	return p
}

// referenceResult returns the reference evaluator's result for an infeasible pod; nil for others.
func referenceResult(s *cluster.State, p *framework.Profile, seed uint64, o preemption.Options, pod *model.Pod) (*preemption.Result, *decision.Summary) {
	rec := placement.Evaluate(s, p, seed, pod)
	if rec.Outcome != decision.Infeasible {
		return nil, nil
	}
	return preemption.Evaluate(s, p, seed, o, pod, rec), decision.Summarize(rec, s.NumNodes())
}

// planned returns what the planner must return for the reference result p: a successful plan has no
// counts.
func planned(p decision.Preemption) *decision.Preemption {
	if p.Outcome == decision.PreemptionNominated {
		p.Candidates, p.ReasonCounts = 0, nil
	}
	return &p
}
