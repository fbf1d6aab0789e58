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
func (d Generator) Pick(list ...string) string { return list[d.IntN(len(list))] }

// OneIn reports true once in `in` calls on average.
func (d Generator) OneIn(in int) bool { return d.IntN(in) == 0 }

// SoakRounds returns rounds, 30 times rounds if BERTH_SOAK is 1, or a larger number in BERTH_SOAK.
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
func (d Generator) Node(i int) *model.Node {
	labels := map[string]string{"disk": d.Pick("ssd", "hdd"), "n": strconv.Itoa(d.IntN(4))}
	if !d.OneIn(10) {
		labels[framework.HostnameKey] = fmt.Sprint("h", i)
	}
	if !d.OneIn(8) {
		labels[framework.ZoneKey] = d.Pick("a", "b", "c")
	}
	if d.OneIn(12) {
		labels[framework.ZoneKey] = ""
	}
	if !d.OneIn(8) {
		labels["rack"] = fmt.Sprint("r", d.IntN(8))
	}
	n := &model.Node{Name: fmt.Sprint("node", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(3 + d.IntN(20)), Unschedulable: d.OneIn(12)}
	n.Allocatable = model.Resources{MilliCPU: int64(1+d.IntN(8)) * 1000, Memory: int64(1+d.IntN(8)) << 30, Ephemeral: int64(d.IntN(3)) << 30}
	if d.OneIn(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(d.IntN(4))}}
	}
	if d.OneIn(30) {
		n.Allocatable.MilliCPU = 0
	}
	for d.OneIn(3) {
		n.Taints = append(n.Taints, model.Taint{Key: d.Pick("t", "u"), Value: d.Pick("", "v", "5"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.PreferNoSchedule, model.NoExecute}[d.IntN(4)]})
	}
	for range d.IntN(3) {
		n.Images = append(n.Images, model.Image{Names: []string{d.Pick("a:1", "b:1", "c:1")}, Size: int64(d.IntN(2000)) << 20})
	}
	return n
}

// Selector returns a selector with one requirement.
func Selector(key string, op model.Op, values ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: op, Values: values}}}
}

func (d Generator) selector() *model.Selector {
	switch d.IntN(12) {
	case 0:
		if d.OneIn(2) {
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
	return Selector("app", model.In, d.Pick("web", "db", "job"))
}

// PodTerm returns a random affinity term.
func (d Generator) PodTerm() model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: d.Pick(framework.HostnameKey, framework.HostnameKey, framework.ZoneKey, framework.ZoneKey, "rack", "disk", "none"),
		Selector: d.selector(), Namespaces: []string{d.Pick("x", "x", "y")}}
	if d.OneIn(4) {
		t.NamespaceSelector = []*model.Selector{{}, Selector("team", model.In, "a"), Selector("team", model.DoesNotExist)}[d.IntN(3)]
	}
	return t
}

func (d Generator) nodeTerm() model.NodeSelectorTerm {
	r := model.Requirement{Key: "disk", Op: model.In, Values: []string{d.Pick("ssd", "hdd")}}
	switch d.IntN(5) {
	case 0:
		r = model.Requirement{Key: "n", Op: model.Gt, Values: []string{"1"}}
	case 1:
		r = model.Requirement{Key: framework.ZoneKey, Op: model.NotIn, Values: []string{"a"}}
	case 2:
		r = model.Requirement{Key: "rack", Op: model.Exists}
	}
	return model.NodeSelectorTerm{Labels: []model.Requirement{r}, Malformed: d.OneIn(20)}
}

func (d Generator) constraint() model.SpreadConstraint {
	c := model.SpreadConstraint{TopologyKey: d.Pick(framework.HostnameKey, framework.ZoneKey, framework.ZoneKey, "rack", "disk"), MaxSkew: int32(1 + d.IntN(3)), MinDomains: 1,
		Hard: d.OneIn(2), Selector: d.selector(), IgnoreAffinity: d.OneIn(3), HonorTaints: d.OneIn(3)}
	if d.OneIn(4) {
		c.MatchLabelKeys = []string{d.Pick("v", "app", "no")}
	}
	if c.Hard && d.OneIn(3) {
		c.MinDomains = int32(1 + d.IntN(9))
	}
	return c
}

// Spec returns a random pod specification.
func (d Generator) Spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(d.IntN(3)), ImageContainers: 1 + d.IntN(2)}
	if !d.OneIn(6) {
		s.Requests = model.Resources{MilliCPU: int64(d.IntN(6)) * 100, Memory: int64(d.IntN(5)) << 27}
	}
	s.Scoring = s.Requests
	s.Scoring.MilliCPU = max(100, s.Scoring.MilliCPU)
	s.Scoring.Memory = max(200<<20, s.Scoring.Memory)
	if d.OneIn(6) {
		s.Requests.Ephemeral = 1 << 29
		s.Requests.Scalars = []model.Scalar{{Name: d.Pick("x.io/gpu", "y.io/nic"), Amount: 1}}
		s.Scoring.Scalars = s.Requests.Scalars
	}
	if d.OneIn(8) {
		s.ScoringIncoming = &model.Resources{MilliCPU: 700, Memory: 1 << 28}
	}
	d.volumes(s)
	d.nodePart(s)
	for d.OneIn(10) {
		s.Ports = append(s.Ports, model.HostPort{IP: d.Pick("0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: int32((80 + d.IntN(2)) * min(1, d.IntN(9)))})
	}
	for range d.IntN(3) {
		s.Images = append(s.Images, d.Pick("a:1", "b:1", "c:1"))
	}
	for d.OneIn(7) {
		s.Affinity = append(s.Affinity, d.PodTerm())
	}
	for d.OneIn(4) {
		s.AntiAffinity = append(s.AntiAffinity, d.PodTerm())
	}
	for d.OneIn(3) {
		s.PreferredAffinity = append(s.PreferredAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + d.IntN(100)), Term: d.PodTerm()})
	}
	for d.OneIn(3) {
		s.PreferredAntiAffinity = append(s.PreferredAntiAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + d.IntN(100)), Term: d.PodTerm()})
	}
	for d.OneIn(3) {
		s.Spread = append(s.Spread, d.constraint())
	}
	return s
}

func (d Generator) nodePart(s *model.PodSpec) {
	if d.OneIn(4) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: d.Pick("ssd", "hdd")}}
	}
	if d.OneIn(4) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{d.nodeTerm(), d.nodeTerm()}
	}
	if d.OneIn(12) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("node", d.IntN(12))}}}}}
	}
	for d.OneIn(3) {
		s.NodeSelector.Preferred = append(s.NodeSelector.Preferred, model.PreferredSchedulingTerm{Weight: int32(1 + d.IntN(100)), Term: d.nodeTerm()})
	}
	for d.OneIn(8) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: d.Pick("t", "u"), Value: d.Pick("v", "3", "7"),
			Op: []model.TolerationOp{model.TolEqual, model.TolLt, model.TolGt, model.TolInvalid}[d.IntN(4)]})
	}
	for d.OneIn(2) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: d.Pick("t", "u", "", "node.kubernetes.io/unschedulable"), Op: model.TolExists,
			Effect: []model.Effect{model.AnyEffect, model.NoSchedule, model.PreferNoSchedule}[d.IntN(3)]})
	}
}

// Config returns a profile, mostly the default one.
func (d Generator) Config() framework.Config {
	c := framework.DefaultConfig()
	if d.OneIn(2) {
		return c
	}
	for i := range c.Score {
		c.Score[i].Weight = int64(1 + d.IntN(5))
	}
	c.TaintTolerationComparison = d.OneIn(2)
	if d.OneIn(6) {
		c.Score[d.IntN(len(c.Score))].Weight = 100
	}
	if d.OneIn(6) {
		c.Fit.IgnoredResources, c.Fit.IgnoredResourceGroups = []string{"x.io/gpu"}, []string{"y.io"}
	}
	if d.OneIn(6) {
		c.PreFilter = c.PreFilter[d.IntN(len(c.PreFilter)):]
	}
	switch d.IntN(6) {
	case 0:
		c.Fit.Strategy = framework.MostAllocated
	case 1:
		c.Fit.Strategy, c.Fit.Shape = framework.RequestedToCapacityRatio, []framework.ShapePoint{{Utilization: 0, Score: 0}, {Utilization: 70, Score: 10}, {Utilization: 100, Score: 3}}
	case 2:
		c.Fit.Resources = append(c.Fit.Resources, framework.ResourceWeight{Name: "x.io/gpu", Weight: 3})
		c.Balanced = append([]framework.ResourceWeight{{Name: "ephemeral-storage", Weight: 1}}, c.Balanced...)
	}
	c.InterPod.HardPodAffinityWeight, c.InterPod.IgnorePreferredTermsOfExistingPods = int64(d.IntN(3)*5), d.OneIn(2)
	if d.OneIn(3) {
		c.AddedAffinity.HasRequired, c.AddedAffinity.Required = true, []model.NodeSelectorTerm{d.nodeTerm()}
		c.AddedAffinity.Required[0].Malformed = false
		c.AddedAffinity.Preferred = []model.PreferredSchedulingTerm{{Weight: 7, Term: d.nodeTerm()}}
	}
	if d.OneIn(3) {
		k := d.constraint()
		k.Selector, k.MatchLabelKeys = nil, nil
		c.Spread = framework.SpreadArgs{DefaultConstraints: []model.SpreadConstraint{k}}
	}
	if d.OneIn(3) { // disable a plugin
		i := d.IntN(len(c.Filter))
		c.Filter = append(c.Filter[:i:i], c.Filter[i+1:]...)
		i = d.IntN(len(c.Score))
		c.Score = append(c.Score[:i:i], c.Score[i+1:]...)
	}
	if d.OneIn(10) {
		c.StorageCapacityShape = []framework.ShapePoint{{Utilization: 0, Score: 2}, {Utilization: 50, Score: 10}, {Utilization: 100, Score: 0}}
		c.Score = append(c.Score, framework.WeightedPlugin{Plugin: decision.VolumeBinding, Weight: int64(1 + d.IntN(9))})
	}
	if d.OneIn(20) {
		c.Filter = []decision.Plugin{decision.NodeResourcesFit, decision.TaintToleration}
	}
	return c
}

func (d Generator) volumes(s *model.PodSpec) {
	if !d.OneIn(6) {
		return
	}
	for d.OneIn(2) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: d.Pick("data", "logs", "made", "bound", "bound", "none"), Ephemeral: d.OneIn(20)})
	}
	for d.OneIn(3) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.GCEDisk, ID: d.Pick("d1", "d2"), ReadOnly: d.OneIn(2)})
	}
	for d.OneIn(3) {
		s.Inline = append(s.Inline, model.CSIVolume{Driver: "csi.x", Handle: d.Pick("h1", "h2", "h3"), InTree: d.Pick("", "kubernetes.io/x")})
	}
}

// Storage adds a volume, a claim and a driver to a state.
func (d Generator) Storage(s *cluster.State) {
	zone := model.NodeSelectorTerm{Labels: []model.Requirement{{Key: framework.ZoneKey, Op: model.In, Values: []string{d.Pick("a", "b")}}}}
	pv := &model.PersistentVolume{Name: d.Pick("pv1", "pv2", "pv3"), Class: "local", Capacity: int64(5 + d.IntN(10)), AccessModes: model.ReadWriteOnce | model.ReadWriteOncePod, Phase: "Available"}
	if d.OneIn(2) {
		pv.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{zone}}
	}
	if d.OneIn(4) {
		pv.Labels = model.Labels{{Key: framework.ZoneKey, Value: d.Pick("a", "b")}}
	}
	if d.OneIn(2) {
		pv.CSI = model.CSIVolume{Driver: "csi.x", Handle: pv.Name}
	}
	s.UpsertPV(pv)
	s.UpsertStorageClass(&model.StorageClass{Name: "local", Provisioner: plugins.NoProvisioner, WaitForFirstConsumer: true})
	made := &model.StorageClass{Name: "made", Provisioner: "csi.x", WaitForFirstConsumer: true}
	if d.OneIn(2) {
		made.Topologies = []model.NodeSelectorTerm{zone}
	}
	s.UpsertStorageClass(made)
	class := d.Pick("local", "made")
	name := d.Pick("data", "logs", "made", "bound")
	c := &model.PersistentVolumeClaim{Namespace: d.Pick("x", "x", "y"), Name: name, UID: name, Class: &class, Request: int64(d.IntN(12)),
		AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[d.IntN(2)], Lost: d.OneIn(20)}
	if name == "bound" {
		c.VolumeName, c.Bound = d.Pick("pv1", "pv2", "pv3"), !d.OneIn(8)
	}
	s.UpsertPVC(c)
	csi := &model.CSINode{Name: fmt.Sprint("node", d.IntN(12)), Migrated: []string{"kubernetes.io/x"}}
	if !d.OneIn(4) {
		csi.Drivers = []model.CSINodeDriver{{Name: "csi.x", Limit: int64(d.IntN(4) - 1)}}
	}
	s.UpsertCSINode(csi)
	s.UpsertCSIDriver(&model.CSIDriver{Name: "csi.x", StorageCapacity: d.OneIn(4), PreventPodSchedulingIfMissing: d.OneIn(3)})
}
