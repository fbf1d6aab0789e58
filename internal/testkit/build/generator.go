package build

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// Generator creates random clusters and pods.
type Generator struct{ *rand.Rand }

// Pick returns a random element of list.
func (g Generator) Pick(list ...string) string { return list[g.IntN(len(list))] }

// OneIn returns true in one of n calls on average.
func (g Generator) OneIn(n int) bool { return g.IntN(n) == 0 }

// SoakRounds returns rounds by default, 30 times rounds if BERTH_SOAK is 1, and otherwise the number in
// BERTH_SOAK.
func SoakRounds(rounds int) int {
	switch n, err := strconv.Atoi(os.Getenv("BERTH_SOAK")); {
	case err != nil || n <= 0:
		return rounds
	case n == 1:
		return 30 * rounds
	default:
		return n
	}
}

// Node returns a random node.
func (g Generator) Node(i int) *model.Node {
	labels := map[string]string{"disk": g.Pick("ssd", "hdd"), "n": strconv.Itoa(g.IntN(4))}
	if !g.OneIn(10) {
		labels[framework.HostnameKey] = fmt.Sprint("h", i)
	}
	if !g.OneIn(8) {
		labels[framework.ZoneKey] = g.Pick("a", "b", "c")
	}
	if g.OneIn(12) {
		labels[framework.ZoneKey] = ""
	}
	if !g.OneIn(8) {
		labels["rack"] = fmt.Sprint("r", g.IntN(8))
	}
	n := &model.Node{Name: fmt.Sprint("node", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(3 + g.IntN(20)), Unschedulable: g.OneIn(12)}
	n.Allocatable = model.Resources{MilliCPU: int64(1+g.IntN(8)) * 1000, Memory: int64(1+g.IntN(8)) << 30, Ephemeral: int64(g.IntN(3)) << 30}
	if g.OneIn(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(g.IntN(4))}}
	}
	if g.OneIn(30) {
		n.Allocatable.MilliCPU = 0
	}
	for g.OneIn(3) {
		n.Taints = append(n.Taints, model.Taint{Key: g.Pick("t", "u"), Value: g.Pick("", "v", "5"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.PreferNoSchedule, model.NoExecute}[g.IntN(4)]})
	}
	for range g.IntN(3) {
		n.Images = append(n.Images, model.Image{Names: []string{g.Pick("a:1", "b:1", "c:1")}, Size: int64(g.IntN(2000)) << 20})
	}
	return n
}

// Selector returns a selector with one requirement.
func Selector(key string, op model.Op, values ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: op, Values: values}}}
}

func (g Generator) selector() *model.Selector {
	switch g.IntN(12) {
	case 0:
		if g.OneIn(2) {
			return nil
		}
		return &model.Selector{}
	case 2:
		return Selector("tier", model.NotIn, "x")
	case 3:
		return Selector("v", model.Exists)
	case 4:
		return Selector("rare", model.DoesNotExist)
	}
	return Selector("app", model.In, g.Pick("web", "db", "job"))
}

// PodTerm returns a random affinity term.
func (g Generator) PodTerm() model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: g.Pick(framework.HostnameKey, framework.HostnameKey, framework.ZoneKey, framework.ZoneKey, "rack", "disk", "none"),
		Selector: g.selector(), Namespaces: []string{g.Pick("x", "x", "y")}}
	if g.OneIn(4) {
		t.NamespaceSelector = []*model.Selector{{}, Selector("team", model.In, "a"), Selector("team", model.DoesNotExist)}[g.IntN(3)]
	}
	return t
}

func (g Generator) nodeTerm() model.NodeSelectorTerm {
	r := model.Requirement{Key: "disk", Op: model.In, Values: []string{g.Pick("ssd", "hdd")}}
	switch g.IntN(5) {
	case 0:
		r = model.Requirement{Key: "n", Op: model.Gt, Values: []string{"1"}}
	case 1:
		r = model.Requirement{Key: framework.ZoneKey, Op: model.NotIn, Values: []string{"a"}}
	case 2:
		r = model.Requirement{Key: "rack", Op: model.Exists}
	}
	return model.NodeSelectorTerm{Labels: []model.Requirement{r}, Malformed: g.OneIn(20)}
}

func (g Generator) constraint() model.SpreadConstraint {
	c := model.SpreadConstraint{TopologyKey: g.Pick(framework.HostnameKey, framework.ZoneKey, framework.ZoneKey, "rack", "disk"), MaxSkew: int32(1 + g.IntN(3)), MinDomains: 1,
		Hard: g.OneIn(2), Selector: g.selector(), IgnoreAffinity: g.OneIn(3), HonorTaints: g.OneIn(3)}
	if g.OneIn(4) {
		c.MatchLabelKeys = []string{g.Pick("v", "app", "missing")}
	}
	if c.Hard && g.OneIn(3) {
		c.MinDomains = int32(1 + g.IntN(9))
	}
	return c
}

// Spec returns a random pod specification.
func (g Generator) Spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(g.IntN(3)), ImageContainers: 1 + g.IntN(2)}
	if !g.OneIn(6) {
		s.Requests = model.Resources{MilliCPU: int64(g.IntN(6)) * 100, Memory: int64(g.IntN(5)) << 27}
	}
	s.Scoring = s.Requests
	s.Scoring.MilliCPU = max(100, s.Scoring.MilliCPU)
	s.Scoring.Memory = max(200<<20, s.Scoring.Memory)
	if g.OneIn(6) {
		s.Requests.Ephemeral = 1 << 29
		s.Requests.Scalars = []model.Scalar{{Name: g.Pick("x.io/gpu", "y.io/nic"), Amount: 1}}
		s.Scoring.Scalars = s.Requests.Scalars
	}
	if g.OneIn(8) {
		s.ScoringIncoming = &model.Resources{MilliCPU: 700, Memory: 1 << 28}
	}
	g.addVolumes(s)
	g.addNodeConstraints(s)
	for g.OneIn(10) {
		s.Ports = append(s.Ports, model.HostPort{IP: g.Pick("0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: int32((80 + g.IntN(2)) * min(1, g.IntN(9)))})
	}
	for range g.IntN(3) {
		s.Images = append(s.Images, g.Pick("a:1", "b:1", "c:1"))
	}
	for g.OneIn(7) {
		s.Affinity = append(s.Affinity, g.PodTerm())
	}
	for g.OneIn(4) {
		s.AntiAffinity = append(s.AntiAffinity, g.PodTerm())
	}
	for g.OneIn(3) {
		s.PreferredAffinity = append(s.PreferredAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(100)), Term: g.PodTerm()})
	}
	for g.OneIn(3) {
		s.PreferredAntiAffinity = append(s.PreferredAntiAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(100)), Term: g.PodTerm()})
	}
	for g.OneIn(3) {
		s.Spread = append(s.Spread, g.constraint())
	}
	return s
}

func (g Generator) addNodeConstraints(s *model.PodSpec) {
	if g.OneIn(4) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: g.Pick("ssd", "hdd")}}
	}
	if g.OneIn(4) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{g.nodeTerm(), g.nodeTerm()}
	}
	if g.OneIn(12) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("node", g.IntN(12))}}}}}
	}
	for g.OneIn(3) {
		s.NodeSelector.Preferred = append(s.NodeSelector.Preferred, model.PreferredSchedulingTerm{Weight: int32(1 + g.IntN(100)), Term: g.nodeTerm()})
	}
	for g.OneIn(8) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: g.Pick("t", "u"), Value: g.Pick("v", "3", "7"),
			Op: []model.TolerationOp{model.TolEqual, model.TolLt, model.TolGt, model.TolInvalid}[g.IntN(4)]})
	}
	for g.OneIn(2) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: g.Pick("t", "u", "", "node.kubernetes.io/unschedulable"), Op: model.TolExists,
			Effect: []model.Effect{model.AnyEffect, model.NoSchedule, model.PreferNoSchedule}[g.IntN(3)]})
	}
}

// Config returns a profile, mostly the default one.
func (g Generator) Config() framework.Config {
	c := framework.DefaultConfig()
	if g.OneIn(2) {
		return c
	}
	for i := range c.Score {
		c.Score[i].Weight = int64(1 + g.IntN(5))
	}
	c.NumericTolerations = g.OneIn(2)
	if g.OneIn(6) {
		c.Score[g.IntN(len(c.Score))].Weight = 100
	}
	if g.OneIn(6) {
		c.Fit.IgnoredResources, c.Fit.IgnoredResourceGroups = []string{"x.io/gpu"}, []string{"y.io"}
	}
	if g.OneIn(6) {
		c.PreFilter = c.PreFilter[g.IntN(len(c.PreFilter)):]
	}
	switch g.IntN(6) {
	case 0:
		c.Fit.Strategy = framework.MostAllocated
	case 1:
		c.Fit.Strategy, c.Fit.Shape = framework.RequestedToCapacityRatio, []framework.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 70, Score: 10}, {Utilization: 100, Score: 3}}
	case 2:
		c.Fit.Resources = append(c.Fit.Resources, framework.ResourceWeight{Name: "x.io/gpu", Weight: 3})
		c.Balanced = append([]framework.ResourceWeight{{Name: "ephemeral-storage", Weight: 1}}, c.Balanced...)
	}
	c.InterPod.HardPodAffinityWeight, c.InterPod.IgnorePreferredTermsOfExistingPods = int64(g.IntN(3)*5), g.OneIn(2)
	if g.OneIn(3) {
		c.AddedAffinity.HasRequired, c.AddedAffinity.Required = true, []model.NodeSelectorTerm{g.nodeTerm()}
		c.AddedAffinity.Required[0].Malformed = false
		c.AddedAffinity.Preferred = []model.PreferredSchedulingTerm{{Weight: 7, Term: g.nodeTerm()}}
	}
	if g.OneIn(3) {
		k := g.constraint()
		k.Selector, k.MatchLabelKeys = nil, nil
		c.Spread = framework.SpreadArgs{DefaultConstraints: []model.SpreadConstraint{k}}
	}
	if g.OneIn(3) { // disable a plugin
		i := g.IntN(len(c.Filter))
		c.Filter = append(c.Filter[:i:i], c.Filter[i+1:]...)
		i = g.IntN(len(c.Score))
		c.Score = append(c.Score[:i:i], c.Score[i+1:]...)
	}
	if g.OneIn(10) {
		c.StorageCapacityShape = []framework.ShapePoint{{Utilization: 0, Score: 2}, {Utilization: 50, Score: 10}, {Utilization: 100, Score: 0}}
		c.Score = append(c.Score, framework.WeightedPlugin{Plugin: decision.VolumeBinding, Weight: int64(1 + g.IntN(9))})
	}
	if g.OneIn(20) {
		c.Filter = []decision.Plugin{decision.NodeResourcesFit, decision.TaintToleration}
	}
	return c
}

func (g Generator) addVolumes(s *model.PodSpec) {
	if !g.OneIn(6) {
		return
	}
	for g.OneIn(2) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: g.Pick("data", "logs", "made", "bound", "bound", "none"), Ephemeral: g.OneIn(20)})
	}
	for g.OneIn(3) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.GCEDisk, ID: g.Pick("d1", "d2"), ReadOnly: g.OneIn(2)})
	}
	for g.OneIn(3) {
		s.Inline = append(s.Inline, model.CSIVolume{Driver: "csi.x", Handle: g.Pick("h1", "h2", "h3"), InTree: g.Pick("", "kubernetes.io/x")})
	}
}

// AddStorage adds random storage objects to a state: a volume, a claim, classes and a CSI driver.
func (g Generator) AddStorage(s *cluster.State) {
	zone := model.NodeSelectorTerm{Labels: []model.Requirement{{Key: framework.ZoneKey, Op: model.In, Values: []string{g.Pick("a", "b")}}}}
	pv := &model.PersistentVolume{Name: g.Pick("pv1", "pv2", "pv3"), Class: "local", Capacity: int64(5 + g.IntN(10)), AccessModes: model.ReadWriteOnce | model.ReadWriteOncePod, Phase: "Available"}
	if g.OneIn(2) {
		pv.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{zone}}
	}
	if g.OneIn(4) {
		pv.Labels = model.Labels{{Key: framework.ZoneKey, Value: g.Pick("a", "b")}}
	}
	if g.OneIn(2) {
		pv.CSI = model.CSIVolume{Driver: "csi.x", Handle: pv.Name}
	}
	s.UpsertPV(pv)
	s.UpsertStorageClass(&model.StorageClass{Name: "local", Provisioner: plugins.NoProvisioner, WaitForFirstConsumer: true})
	provisioned := &model.StorageClass{Name: "made", Provisioner: "csi.x", WaitForFirstConsumer: true}
	if g.OneIn(2) {
		provisioned.Topologies = []model.NodeSelectorTerm{zone}
	}
	s.UpsertStorageClass(provisioned)
	class := g.Pick("local", "made")
	name := g.Pick("data", "logs", "made", "bound")
	c := &model.PersistentVolumeClaim{Namespace: g.Pick("x", "x", "y"), Name: name, UID: name, Class: &class, Request: int64(g.IntN(12)),
		AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[g.IntN(2)], Lost: g.OneIn(20)}
	if name == "bound" {
		c.VolumeName, c.Bound = g.Pick("pv1", "pv2", "pv3"), !g.OneIn(8)
	}
	s.UpsertPVC(c)
	csi := &model.CSINode{Name: fmt.Sprint("node", g.IntN(12)), Migrated: []string{"kubernetes.io/x"}}
	if !g.OneIn(4) {
		csi.Drivers = []model.CSINodeDriver{{Name: "csi.x", Limit: int64(g.IntN(4) - 1)}}
	}
	s.UpsertCSINode(csi)
	s.UpsertCSIDriver(&model.CSIDriver{Name: "csi.x", StorageCapacity: g.OneIn(4), PreventPodSchedulingIfMissing: g.OneIn(3)})
}
