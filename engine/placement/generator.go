package placement

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// generator draws random clusters and pods for the comparison of the fast path with
// the plain one.
type generator struct{ *rand.Rand }

func (d generator) pick(list ...string) string { return list[d.IntN(len(list))] }
func (d generator) one(in int) bool            { return d.IntN(in) == 0 }

// soakRounds is few; under BERTH_SOAK thirty times as many, or as many as it says.
func soakRounds(few int) int {
	switch n, err := strconv.Atoi(os.Getenv("BERTH_SOAK")); {
	case err != nil || n <= 0:
		return few
	case n == 1:
		return 30 * few
	default:
		return n
	}
}

func (d generator) node(i int) *model.Node {
	labels := map[string]string{"disk": d.pick("ssd", "hdd"), "n": strconv.Itoa(d.IntN(4))}
	if !d.one(10) {
		labels[HostnameKey] = fmt.Sprint("h", i)
	}
	if !d.one(8) {
		labels[zoneKey] = d.pick("a", "b", "c")
	}
	if d.one(12) {
		labels[zoneKey] = ""
	}
	if !d.one(8) {
		labels["rack"] = fmt.Sprint("r", d.IntN(8))
	}
	n := &model.Node{Name: fmt.Sprint("node", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(3 + d.IntN(20)), Unschedulable: d.one(12)}
	n.Allocatable = model.Resources{MilliCPU: int64(1+d.IntN(8)) * 1000, Memory: int64(1+d.IntN(8)) << 30, Ephemeral: int64(d.IntN(3)) << 30}
	if d.one(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(d.IntN(4))}}
	}
	if d.one(30) {
		n.Allocatable.MilliCPU = 0
	}
	for d.one(3) {
		n.Taints = append(n.Taints, model.Taint{Key: d.pick("t", "u"), Value: d.pick("", "v", "5"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.PreferNoSchedule, model.NoExecute}[d.IntN(4)]})
	}
	for range d.IntN(3) {
		n.Images = append(n.Images, model.Image{Names: []string{d.pick("a:1", "b:1", "c:1")}, Size: int64(d.IntN(2000)) << 20})
	}
	return n
}

func sel(key string, op model.Op, values ...string) *model.Selector {
	return &model.Selector{Requirements: []model.Requirement{{Key: key, Op: op, Values: values}}}
}

func (d generator) selector() *model.Selector {
	switch d.IntN(12) {
	case 0:
		if d.one(2) {
			return nil
		}
		return &model.Selector{}
	case 2:
		return sel("tier", model.NotIn, "x")
	case 3:
		return sel("v", model.Exists)
	case 4:
		return sel("rare", model.DoesNotExist)
	}
	return sel("app", model.In, d.pick("web", "db", "job"))
}

func (d generator) podTerm() model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: d.pick(HostnameKey, HostnameKey, zoneKey, zoneKey, "rack", "disk", "none"),
		Selector: d.selector(), Namespaces: []string{d.pick("x", "x", "y")}}
	if d.one(4) {
		t.NamespaceSelector = []*model.Selector{{}, sel("team", model.In, "a"), sel("team", model.DoesNotExist)}[d.IntN(3)]
	}
	return t
}

func (d generator) nodeTerm() model.NodeSelectorTerm {
	r := model.Requirement{Key: "disk", Op: model.In, Values: []string{d.pick("ssd", "hdd")}}
	switch d.IntN(5) {
	case 0:
		r = model.Requirement{Key: "n", Op: model.Gt, Values: []string{"1"}}
	case 1:
		r = model.Requirement{Key: zoneKey, Op: model.NotIn, Values: []string{"a"}}
	case 2:
		r = model.Requirement{Key: "rack", Op: model.Exists}
	}
	return model.NodeSelectorTerm{Labels: []model.Requirement{r}, Malformed: d.one(20)}
}

func (d generator) constraint() model.SpreadConstraint {
	c := model.SpreadConstraint{TopologyKey: d.pick(HostnameKey, zoneKey, zoneKey, "rack", "disk"), MaxSkew: int32(1 + d.IntN(3)), MinDomains: 1,
		Hard: d.one(2), Selector: d.selector(), IgnoreAffinity: d.one(3), HonorTaints: d.one(3)}
	if d.one(4) {
		c.MatchLabelKeys = []string{d.pick("v", "app", "no")}
	}
	if c.Hard && d.one(3) {
		c.MinDomains = int32(1 + d.IntN(9))
	}
	return c
}

func (d generator) spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(d.IntN(3)), ImageContainers: 1 + d.IntN(2)}
	if !d.one(6) {
		s.Requests = model.Resources{MilliCPU: int64(d.IntN(6)) * 100, Memory: int64(d.IntN(5)) << 27}
	}
	s.Scoring = s.Requests
	s.Scoring.MilliCPU = max(100, s.Scoring.MilliCPU)
	s.Scoring.Memory = max(200<<20, s.Scoring.Memory)
	if d.one(6) {
		s.Requests.Ephemeral = 1 << 29
		s.Requests.Scalars = []model.Scalar{{Name: d.pick("x.io/gpu", "y.io/nic"), Amount: 1}}
		s.Scoring.Scalars = s.Requests.Scalars
	}
	if d.one(8) {
		s.ScoringIncoming = &model.Resources{MilliCPU: 700, Memory: 1 << 28}
	}
	d.volumes(s)
	d.nodePart(s)
	for d.one(10) {
		s.Ports = append(s.Ports, model.HostPort{IP: d.pick("0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: int32((80 + d.IntN(2)) * min(1, d.IntN(9)))})
	}
	for range d.IntN(3) {
		s.Images = append(s.Images, d.pick("a:1", "b:1", "c:1"))
	}
	for d.one(7) {
		s.Affinity = append(s.Affinity, d.podTerm())
	}
	for d.one(4) {
		s.AntiAffinity = append(s.AntiAffinity, d.podTerm())
	}
	for d.one(3) {
		s.PreferredAffinity = append(s.PreferredAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + d.IntN(100)), Term: d.podTerm()})
	}
	for d.one(3) {
		s.PreferredAntiAffinity = append(s.PreferredAntiAffinity, model.WeightedPodAffinityTerm{Weight: int32(1 + d.IntN(100)), Term: d.podTerm()})
	}
	for d.one(3) {
		s.Spread = append(s.Spread, d.constraint())
	}
	return s
}

func (d generator) nodePart(s *model.PodSpec) {
	if d.one(4) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: d.pick("ssd", "hdd")}}
	}
	if d.one(4) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{d.nodeTerm(), d.nodeTerm()}
	}
	if d.one(12) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("node", d.IntN(12))}}}}}
	}
	for d.one(3) {
		s.NodeSelector.Preferred = append(s.NodeSelector.Preferred, model.PreferredSchedulingTerm{Weight: int32(1 + d.IntN(100)), Term: d.nodeTerm()})
	}
	for d.one(8) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: d.pick("t", "u"), Value: d.pick("v", "3", "7"),
			Op: []model.TolerationOp{model.TolEqual, model.TolLt, model.TolGt, model.TolInvalid}[d.IntN(4)]})
	}
	for d.one(2) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: d.pick("t", "u", "", "node.kubernetes.io/unschedulable"), Op: model.TolExists,
			Effect: []model.Effect{model.AnyEffect, model.NoSchedule, model.PreferNoSchedule}[d.IntN(3)]})
	}
}

// config draws a profile: mostly the default one.
func (d generator) config() Config {
	c := DefaultConfig()
	if d.one(2) {
		return c
	}
	for i := range c.Score {
		c.Score[i].Weight = int64(1 + d.IntN(5))
	}
	c.TaintTolerationComparison = d.one(2)
	if d.one(6) {
		c.Score[d.IntN(len(c.Score))].Weight = 100
	}
	if d.one(6) {
		c.Fit.IgnoredResources, c.Fit.IgnoredResourceGroups = []string{"x.io/gpu"}, []string{"y.io"}
	}
	if d.one(6) {
		c.PreFilter = c.PreFilter[d.IntN(len(c.PreFilter)):]
	}
	switch d.IntN(6) {
	case 0:
		c.Fit.Strategy = MostAllocated
	case 1:
		c.Fit.Strategy, c.Fit.Shape = RequestedToCapacityRatio, []ShapePoint{{0, 0}, {70, 10}, {100, 3}}
	case 2:
		c.Fit.Resources = append(c.Fit.Resources, ResourceWeight{"x.io/gpu", 3})
		c.Balanced = append([]ResourceWeight{{"ephemeral-storage", 1}}, c.Balanced...)
	}
	c.InterPod.HardPodAffinityWeight, c.InterPod.IgnorePreferredTermsOfExistingPods = int64(d.IntN(3)*5), d.one(2)
	if d.one(3) {
		c.AddedAffinity.HasRequired, c.AddedAffinity.Required = true, []model.NodeSelectorTerm{d.nodeTerm()}
		c.AddedAffinity.Required[0].Malformed = false
		c.AddedAffinity.Preferred = []model.PreferredSchedulingTerm{{Weight: 7, Term: d.nodeTerm()}}
	}
	if d.one(3) {
		k := d.constraint()
		k.Selector, k.MatchLabelKeys = nil, nil
		c.Spread = SpreadArgs{DefaultConstraints: []model.SpreadConstraint{k}}
	}
	if d.one(3) { // a rule is switched off
		i := d.IntN(len(c.Filter))
		c.Filter = append(c.Filter[:i:i], c.Filter[i+1:]...)
		i = d.IntN(len(c.Score))
		c.Score = append(c.Score[:i:i], c.Score[i+1:]...)
	}
	if d.one(10) {
		c.StorageCapacityShape = []ShapePoint{{0, 2}, {50, 10}, {100, 0}}
		c.Score = append(c.Score, WeightedPlugin{decision.VolumeBinding, int64(1 + d.IntN(9))})
	}
	if d.one(20) {
		c.Filter = []decision.Plugin{decision.NodeResourcesFit, decision.TaintToleration}
	}
	return c
}

func (d generator) volumes(s *model.PodSpec) {
	if !d.one(6) {
		return
	}
	for d.one(2) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: d.pick("data", "logs", "made", "bound", "bound", "none"), Ephemeral: d.one(20)})
	}
	for d.one(3) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.GCEDisk, ID: d.pick("d1", "d2"), ReadOnly: d.one(2)})
	}
	for d.one(3) {
		s.Inline = append(s.Inline, model.CSIVolume{Driver: "csi.x", Handle: d.pick("h1", "h2", "h3"), InTree: d.pick("", "kubernetes.io/x")})
	}
}

// storage puts a volume, a claim and a driver into a state.
func (d generator) storage(s *cluster.State) {
	zone := model.NodeSelectorTerm{Labels: []model.Requirement{{Key: zoneKey, Op: model.In, Values: []string{d.pick("a", "b")}}}}
	pv := &model.PersistentVolume{Name: d.pick("pv1", "pv2", "pv3"), Class: "local", Capacity: int64(5 + d.IntN(10)), AccessModes: model.ReadWriteOnce | model.ReadWriteOncePod, Phase: "Available"}
	if d.one(2) {
		pv.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{zone}}
	}
	if d.one(4) {
		pv.Labels = model.Labels{{Key: zoneKey, Value: d.pick("a", "b")}}
	}
	if d.one(2) {
		pv.CSI = model.CSIVolume{Driver: "csi.x", Handle: pv.Name}
	}
	s.UpsertPV(pv)
	s.UpsertStorageClass(&model.StorageClass{Name: "local", Provisioner: noProvisioner, WaitForFirstConsumer: true})
	made := &model.StorageClass{Name: "made", Provisioner: "csi.x", WaitForFirstConsumer: true}
	if d.one(2) {
		made.Topologies = []model.NodeSelectorTerm{zone}
	}
	s.UpsertStorageClass(made)
	class := d.pick("local", "made")
	name := d.pick("data", "logs", "made", "bound")
	c := &model.PersistentVolumeClaim{Namespace: d.pick("x", "x", "y"), Name: name, UID: name, Class: &class, Request: int64(d.IntN(12)),
		AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[d.IntN(2)], Lost: d.one(20)}
	if name == "bound" {
		c.VolumeName, c.Bound = d.pick("pv1", "pv2", "pv3"), !d.one(8)
	}
	s.UpsertPVC(c)
	csi := &model.CSINode{Name: fmt.Sprint("node", d.IntN(12)), Migrated: []string{"kubernetes.io/x"}}
	if !d.one(4) {
		csi.Drivers = []model.CSINodeDriver{{Name: "csi.x", Limit: int64(d.IntN(4) - 1)}}
	}
	s.UpsertCSINode(csi)
	s.UpsertCSIDriver(&model.CSIDriver{Name: "csi.x", StorageCapacity: d.one(4), PreventPodSchedulingIfMissing: d.one(3)})
}
