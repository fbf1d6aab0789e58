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

func pick[T any](c *randomCluster, values ...T) T { return values[c.IntN(len(values))] }

func (c *randomCluster) chance(p float64) bool { return c.Float64() < p }

func newRandomCluster(seed uint64) *randomCluster {
	c := &randomCluster{Rand: rand.New(rand.NewPCG(seed, 77)), state: cluster.New()}
	c.nodes = c.IntN(12) + 2
	if c.chance(0.1) {
		c.nodes += 30
	}
	for i := range c.nodes {
		c.node(i)
	}
	c.claims()
	for range c.IntN(12) + 2 {
		c.specs = append(c.specs, c.spec())
	}
	for range c.IntN(40) + 3*c.nodes {
		c.addAssigned()
	}
	for range c.IntN(4) {
		c.budget()
	}
	return c
}

func (c *randomCluster) node(i int) {
	n := &model.Node{Name: fmt.Sprintf("n%02d", i), AllocatablePods: pick[int64](c, 110, 6, 4, 3),
		Allocatable: model.Resources{MilliCPU: pick[int64](c, 4000, 2000, 1000), Memory: pick[int64](c, 8, 4, 2) << 30, Ephemeral: 10 << 30}}
	labels := map[string]string{framework.HostnameKey: n.Name, "zone": pick(c, "a", "b")}
	n.Labels = model.LabelsOf(labels)
	if c.chance(0.3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "example.com/gpu", Amount: pick[int64](c, 1, 2, 4)}}
	}
	if c.chance(0.1) {
		n.Taints = []model.Taint{{Key: "dedicated", Effect: model.NoSchedule}}
	}
	n.Unschedulable = c.chance(0.05)
	c.state.UpsertNode(n)
}

func (c *randomCluster) spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: pick(c, "default-scheduler", "default-scheduler", "default-scheduler", "other"),
		Priority: pick[int32](c, -5, 0, 0, 5, 5, 10, 100, 100), NeverPreempts: c.chance(0.05)}
	s.Requests = model.Resources{MilliCPU: pick[int64](c, 0, 100, 300, 500, 500, 1000, 2500), Memory: pick[int64](c, 0, 1, 1, 2, 3) << 29}
	if c.chance(0.15) {
		s.Requests.Ephemeral = pick[int64](c, 1, 4) << 30
	}
	if c.chance(0.15) {
		s.Requests.Scalars = []model.Scalar{{Name: "example.com/gpu", Amount: pick[int64](c, 1, 2)}}
	}
	s.Scoring = s.Requests
	if c.chance(0.15) {
		s.Ports = []model.HostPort{{IP: "0.0.0.0", Protocol: "TCP", Port: pick[int32](c, 80, 81)}}
	}
	if c.chance(0.2) {
		s.Tolerations = []model.Toleration{{Key: "dedicated", Op: model.TolExists}}
	}
	if c.chance(0.1) {
		s.AntiAffinity = []model.PodAffinityTerm{{TopologyKey: pick(c, framework.HostnameKey, "zone"), Selector: matching("app", pick(c, "a", "b")), Namespaces: []string{"default"}}}
	}
	if c.chance(0.1) {
		s.Spread = []model.SpreadConstraint{{TopologyKey: "zone", MaxSkew: 1, MinDomains: 1, Hard: true, Selector: matching("app", pick(c, "a", "b"))}}
	}
	c.addRareConstraints(s)
	return s
}

// addRareConstraints adds node names or claims to a specification.
func (c *randomCluster) addRareConstraints(s *model.PodSpec) {
	if c.chance(0.06) {
		name := model.Requirement{Key: "metadata.name", Op: model.In, Values: []string{pick(c, "n00", "n01", "n03", "missing")}}
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{name}}, {Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{"n00"}}}}}
	}
	if c.chance(0.06) {
		s.Claims = []model.PodClaim{{Volume: "data", Claim: pick(c, "exclusive", "shared")}}
	}
}

// claims creates the claims that pods use: one for a single pod, and one for several pods.
func (c *randomCluster) claims() {
	for name, modes := range map[string]model.AccessModes{"exclusive": model.ReadWriteOncePod, "shared": model.ReadWriteMany} {
		c.state.UpsertPV(&model.PersistentVolume{Name: "pv-" + name, AccessModes: modes, Claim: model.ClaimRef{Namespace: "default", Name: name}})
		c.state.UpsertPVC(&model.PersistentVolumeClaim{Namespace: "default", Name: name, VolumeName: "pv-" + name, Bound: true, AccessModes: modes})
	}
}

func matching(key, value string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: model.In, Values: []string{value}}}}
}

func (c *randomCluster) pod() *model.Pod {
	c.serial++
	p := &model.Pod{Namespace: pick(c, "default", "default", "team"), Name: fmt.Sprintf("p%d", c.serial), UID: fmt.Sprintf("uid-%d", c.IntN(1<<30)),
		Labels: model.LabelsOf(map[string]string{"app": pick(c, "a", "b", "c")}), Spec: pick(c, c.specs...)}
	if c.chance(0.3) {
		p.Owner = model.Owner{APIVersion: "apps/v1", Kind: pick(c, "DaemonSet", "ReplicaSet"), Name: "o", UID: pick(c, "o1", "o2")}
	}
	return p
}

// addAssigned adds a pod on a random node.
func (c *randomCluster) addAssigned() { c.addAssignedTo(c.IntN(c.nodes)) }

func (c *randomCluster) addAssignedTo(node int) {
	p := c.pod()
	p.NodeName = fmt.Sprintf("n%02d", node)
	p.Phase, p.Ready = model.Running, c.chance(0.8)
	if c.chance(0.8) {
		p.Started = epoch.Add(time.Duration(c.IntN(5)) * time.Second)
	}
	c.pods = append(c.pods, p)
	c.state.UpsertPod(p)
}

// addPending adds a pending pod, sometimes a nominated one.
func (c *randomCluster) addPending() *model.Pod {
	p := c.pod()
	if c.chance(0.3) {
		p.NominatedNodeName = fmt.Sprintf("n%02d", c.IntN(c.nodes+1))
	}
	c.pods = append(c.pods, p)
	c.state.UpsertPod(p)
	return p
}

func (c *randomCluster) budget() {
	b := &model.Budget{Namespace: pick(c, "default", "team"), Name: fmt.Sprintf("b%d", c.IntN(4)), DisruptionsAllowed: int32(c.IntN(4)),
		DesiredHealthy: int32(c.IntN(pick(c, 3, 12))), Generation: 1, ObservedGeneration: pick[int64](c, 1, 1, 1, 0)}
	switch c.IntN(6) {
	case 0:
		b.Selector = &model.Selector{}
	case 1:
	default:
		b.Selector = matching("app", pick(c, "a", "b"))
	}
	for range c.IntN(3) {
		if len(c.pods) > 0 {
			b.Disrupted = append(b.Disrupted, pick(c, c.pods...).Name)
		}
	}
	slices.Sort(b.Disrupted)
	b.Disrupted = slices.Compact(b.Disrupted)
	c.state.UpsertBudget(b)
}

func (c *randomCluster) change() {
	if c.even {
		c.evenChange()
		return
	}
	if len(c.pods) == 0 {
		c.addAssigned()
		return
	}
	i := c.IntN(len(c.pods))
	p := *c.pods[i]
	switch c.IntN(13) {
	case 0, 1:
		c.addAssigned()
		return
	case 2:
		c.addPending()
		return
	case 3, 4:
		c.state.RemovePod(p.UID)
		c.pods = slices.Delete(c.pods, i, i+1)
		return
	case 5:
		p.Deleting, p.DisruptionReason = true, pick(c, "", "PreemptionByScheduler")
	case 6:
		p.Ready = !p.Ready
	case 7:
		p.Started = epoch.Add(time.Duration(c.IntN(5)) * time.Second)
	case 8:
		p.Labels = model.LabelsOf(map[string]string{"app": pick(c, "a", "b", "c"), "x": pick(c, "1", "2")})
	case 9:
		if p.NodeName == "" {
			p.NominatedNodeName = pick(c, "", fmt.Sprintf("n%02d", c.IntN(c.nodes)))
		}
	case 10:
		c.budget()
		return
	case 11:
		switch c.IntN(4) {
		case 0:
			c.state.RemoveNode(fmt.Sprintf("n%02d", c.IntN(c.nodes)))
		case 1:
			c.state.RemoveBudget(pick(c, "default", "team"), fmt.Sprintf("b%d", c.IntN(4)))
		default:
			c.node(c.IntN(c.nodes))
		}
		return
	case 12:
		p.Phase = pick(c, model.Running, model.Running, model.Succeeded)
	}
	c.pods[i] = &p
	c.state.UpsertPod(&p)
}

func profile() *framework.Profile {
	p, err := framework.NewProfile(framework.DefaultConfig())
	if err != nil {
		panic(err)
	}
	return p
}

// referenceResult returns the reference evaluator's result for a pod and the summary of the decision
// about it; nil if the pod is not infeasible.
func referenceResult(s *cluster.State, p *framework.Profile, seed uint64, o preemption.Options, pod *model.Pod) (*preemption.Result, *decision.Summary) {
	rec := placement.Evaluate(s, p, seed, pod)
	if rec.Outcome != decision.Infeasible {
		return nil, nil
	}
	return preemption.Evaluate(s, p, seed, o, pod, rec), decision.Summarize(rec, s.NumNodes())
}

// withoutCounts returns what the planner must return for the reference result p: a successful plan
// has no counts.
func withoutCounts(p decision.Preemption) *decision.Preemption {
	if p.Outcome == decision.PreemptionNominated {
		p.Candidates, p.ReasonCounts = 0, nil
	}
	return &p
}
