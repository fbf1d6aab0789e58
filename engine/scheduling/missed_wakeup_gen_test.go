package scheduling

import (
	"fmt"
	"math/rand/v2"

	"github.com/berthproject/berth/engine/model"
)

// generator creates the objects of small clusters that involve every plugin.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }
func (g generator) oneIn(n int) bool           { return g.IntN(n) == 0 }

func (g generator) requests() model.Resources {
	r := model.Resources{MilliCPU: int64(g.IntN(6)) * 300, Memory: int64(g.IntN(4)) << 29}
	if g.oneIn(8) {
		r.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: 1}}
	}
	return r
}

func (g generator) node(i int) *model.Node {
	labels := map[string]string{"kubernetes.io/hostname": fmt.Sprint("h", i), "disk": g.pick("ssd", "hdd")}
	if !g.oneIn(6) {
		labels["zone"] = g.pick("a", "b", "c")
	}
	n := &model.Node{Name: fmt.Sprint("n", i), UID: fmt.Sprint("n", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(2 + g.IntN(6)), Unschedulable: g.oneIn(8)}
	n.Allocatable = model.Resources{MilliCPU: int64(1+g.IntN(4)) * 600, Memory: int64(1+g.IntN(4)) << 30}
	if g.oneIn(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(g.IntN(3))}}
	}
	for g.oneIn(4) {
		n.Taints = append(n.Taints, model.Taint{Key: g.pick("t", "u"), Value: g.pick("", "v"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[g.IntN(3)]})
	}
	if g.oneIn(2) {
		n.Features = []string{"F"}
	}
	return n
}

func (g generator) selector() *model.Selector {
	switch g.IntN(8) {
	case 0:
		return nil
	case 1:
		return &model.Selector{}
	case 2:
		return &model.Selector{Requirements: []model.Requirement{{Key: g.pick("odd", "index"), Op: model.Exists}}}
	}
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{g.pick("web", "db")}}}}
}

func (g generator) term() model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: g.pick("kubernetes.io/hostname", "kubernetes.io/hostname", "zone", "disk"), Selector: g.selector(), Namespaces: []string{g.pick("x", "x", "y")}}
	if g.oneIn(4) {
		t.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{{Key: "team", Op: model.In, Values: []string{"a"}}}}
	}
	return t
}

// spec returns a random pod specification.
func (g generator) spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(g.IntN(3)), Requests: g.requests(), ImageContainers: 1, NeverPreempts: g.oneIn(4)}
	s.Scoring = s.Requests
	if g.oneIn(4) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: g.pick("ssd", "hdd")}}
	}
	if g.oneIn(8) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("n", g.IntN(8)), fmt.Sprint("n", g.IntN(8))}}}}}
	}
	if g.oneIn(3) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: g.pick("t", "u", "", "node.kubernetes.io/unschedulable"), Op: model.TolExists})
	}
	if g.oneIn(6) {
		s.Ports = []model.HostPort{{IP: g.pick("0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: int32(80 + g.IntN(2))}}
	}
	if g.oneIn(4) {
		s.Affinity = append(s.Affinity, g.term())
	}
	if g.oneIn(4) {
		s.AntiAffinity = append(s.AntiAffinity, g.term())
	}
	if g.oneIn(4) {
		s.Spread = append(s.Spread, model.SpreadConstraint{TopologyKey: g.pick("kubernetes.io/hostname", "zone", "disk"), MaxSkew: int32(1 + g.IntN(2)),
			MinDomains: int32(1 + g.IntN(3)), Hard: true, Selector: g.selector(), IgnoreAffinity: g.oneIn(2), HonorTaints: g.oneIn(2)})
	}
	if g.oneIn(8) {
		s.Features = []string{"F"}
	}
	if g.oneIn(10) {
		s.Gates = []string{"g"}
	}
	g.addVolumes(s)
	return s
}

func (g generator) addVolumes(s *model.PodSpec) {
	if !g.oneIn(4) {
		return
	}
	for g.oneIn(2) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: g.pick("data", "logs", "csi", "bound")})
	}
	if g.oneIn(4) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.GCEDisk, ID: g.pick("d1", "d2"), ReadOnly: g.oneIn(2)})
	}
	if g.oneIn(4) {
		s.Inline = append(s.Inline, model.CSIVolume{Driver: "csi.x", Handle: g.pick("h1", "h2"), InTree: "kubernetes.io/aws-ebs"})
	}
}

// storage returns a random storage object.
func (g generator) storage() any {
	zone := model.NodeSelectorTerm{Labels: []model.Requirement{{Key: "zone", Op: model.In, Values: []string{g.pick("a", "b")}}}}
	class := g.pick("local", "csi")
	switch g.IntN(8) {
	case 0, 1:
		pv := &model.PersistentVolume{Name: g.pick("pv1", "pv2", "pv3"), Class: "local", Capacity: int64(5 + g.IntN(8)), AccessModes: model.ReadWriteOnce | model.ReadWriteOncePod, Phase: "Available"}
		if g.oneIn(2) {
			pv.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{zone}}
		}
		if g.oneIn(4) {
			pv.Labels = model.Labels{{Key: "topology.kubernetes.io/zone", Value: g.pick("a", "b")}}
		}
		if g.oneIn(2) {
			pv.CSI = model.CSIVolume{Driver: "csi.x", Handle: pv.Name}
		}
		if g.oneIn(3) {
			pv.Claim = model.ClaimRef{Namespace: "x", Name: g.pick("data", "logs")}
		}
		return pv
	case 2, 3:
		c := &model.PersistentVolumeClaim{Namespace: g.pick("x", "x", "y"), Name: g.pick("data", "logs", "csi", "bound"), Class: &class, Request: int64(g.IntN(10)),
			AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[g.IntN(2)], Lost: g.oneIn(12)}
		c.UID = c.Name
		if c.Name == "bound" {
			c.VolumeName, c.Bound = g.pick("pv1", "pv2", "pv3"), !g.oneIn(6)
		}
		return c
	case 4:
		storageClass := &model.StorageClass{Name: class, Provisioner: "csi.x", WaitForFirstConsumer: !g.oneIn(6)}
		if class == "local" {
			storageClass.Provisioner = "kubernetes.io/no-provisioner"
		} else if g.oneIn(2) {
			storageClass.Topologies = []model.NodeSelectorTerm{zone}
		}
		return storageClass
	case 5:
		n := &model.CSINode{Name: fmt.Sprint("n", g.IntN(8))}
		if !g.oneIn(3) {
			n.Drivers = []model.CSINodeDriver{{Name: "csi.x", Limit: int64(g.IntN(4) - 1)}}
		}
		return n
	case 6:
		return &model.CSIDriver{Name: "csi.x", StorageCapacity: g.oneIn(3), PreventPodSchedulingIfMissing: g.oneIn(3)}
	}
	capacity := int64(g.IntN(12))
	if g.oneIn(2) {
		return &model.VolumeAttachment{Name: g.pick("va1", "va2"), Attacher: "csi.x", Node: fmt.Sprint("n", g.IntN(8)), Volume: g.pick("pv1", "pv2")}
	}
	return &model.CSIStorageCapacity{Namespace: "x", Name: g.pick("c1", "c2"), Class: "csi", Topology: &model.Selector{}, Capacity: &capacity}
}
