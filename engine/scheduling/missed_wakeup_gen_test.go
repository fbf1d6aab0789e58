package scheduling

import (
	"fmt"
	"math/rand/v2"

	"github.com/berthproject/berth/engine/model"
)

// generator creates the objects of small clusters that involve every plugin.
type generator struct{ *rand.Rand }

func (d generator) pick(list ...string) string { return list[d.IntN(len(list))] }
func (d generator) oneIn(in int) bool          { return d.IntN(in) == 0 }

func (d generator) requests() model.Resources {
	r := model.Resources{MilliCPU: int64(d.IntN(6)) * 300, Memory: int64(d.IntN(4)) << 29}
	if d.oneIn(8) {
		r.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: 1}}
	}
	return r
}

func (d generator) node(i int) *model.Node {
	labels := map[string]string{"kubernetes.io/hostname": fmt.Sprint("h", i), "disk": d.pick("ssd", "hdd")}
	if !d.oneIn(6) {
		labels["zone"] = d.pick("a", "b", "c")
	}
	n := &model.Node{Name: fmt.Sprint("n", i), UID: fmt.Sprint("n", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(2 + d.IntN(6)), Unschedulable: d.oneIn(8)}
	n.Allocatable = model.Resources{MilliCPU: int64(1+d.IntN(4)) * 600, Memory: int64(1+d.IntN(4)) << 30}
	if d.oneIn(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(d.IntN(3))}}
	}
	for d.oneIn(4) {
		n.Taints = append(n.Taints, model.Taint{Key: d.pick("t", "u"), Value: d.pick("", "v"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[d.IntN(3)]})
	}
	if d.oneIn(2) {
		n.Features = []string{"F"}
	}
	return n
}

func (d generator) selector() *model.Selector {
	switch d.IntN(8) {
	case 0:
		return nil
	case 1:
		return &model.Selector{}
	case 2:
		return &model.Selector{Requirements: []model.Requirement{{Key: d.pick("odd", "index"), Op: model.Exists}}}
	}
	return &model.Selector{Requirements: []model.Requirement{{Key: "app", Op: model.In, Values: []string{d.pick("web", "db")}}}}
}

func (d generator) term() model.PodAffinityTerm {
	t := model.PodAffinityTerm{TopologyKey: d.pick("kubernetes.io/hostname", "kubernetes.io/hostname", "zone", "disk"), Selector: d.selector(), Namespaces: []string{d.pick("x", "x", "y")}}
	if d.oneIn(4) {
		t.NamespaceSelector = &model.Selector{Requirements: []model.Requirement{{Key: "team", Op: model.In, Values: []string{"a"}}}}
	}
	return t
}

// spec returns a random pod specification.
func (d generator) spec() *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(d.IntN(3)), Requests: d.requests(), ImageContainers: 1, NeverPreempts: d.oneIn(4)}
	s.Scoring = s.Requests
	if d.oneIn(4) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: d.pick("ssd", "hdd")}}
	}
	if d.oneIn(8) {
		s.NodeSelector.HasRequired = true
		s.NodeSelector.Required = []model.NodeSelectorTerm{{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("n", d.IntN(8)), fmt.Sprint("n", d.IntN(8))}}}}}
	}
	if d.oneIn(3) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: d.pick("t", "u", "", "node.kubernetes.io/unschedulable"), Op: model.TolExists})
	}
	if d.oneIn(6) {
		s.Ports = []model.HostPort{{IP: d.pick("0.0.0.0", "10.0.0.1"), Protocol: "TCP", Port: int32(80 + d.IntN(2))}}
	}
	if d.oneIn(4) {
		s.Affinity = append(s.Affinity, d.term())
	}
	if d.oneIn(4) {
		s.AntiAffinity = append(s.AntiAffinity, d.term())
	}
	if d.oneIn(4) {
		s.Spread = append(s.Spread, model.SpreadConstraint{TopologyKey: d.pick("kubernetes.io/hostname", "zone", "disk"), MaxSkew: int32(1 + d.IntN(2)),
			MinDomains: int32(1 + d.IntN(3)), Hard: true, Selector: d.selector(), IgnoreAffinity: d.oneIn(2), HonorTaints: d.oneIn(2)})
	}
	if d.oneIn(8) {
		s.Features = []string{"F"}
	}
	if d.oneIn(10) {
		s.Gates = []string{"g"}
	}
	d.volumes(s)
	return s
}

func (d generator) volumes(s *model.PodSpec) {
	if !d.oneIn(4) {
		return
	}
	for d.oneIn(2) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: d.pick("data", "logs", "made", "bound")})
	}
	if d.oneIn(4) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.GCEDisk, ID: d.pick("d1", "d2"), ReadOnly: d.oneIn(2)})
	}
	if d.oneIn(4) {
		s.Inline = append(s.Inline, model.CSIVolume{Driver: "csi.x", Handle: d.pick("h1", "h2"), InTree: "kubernetes.io/aws-ebs"})
	}
}

// storage returns a random storage object.
func (d generator) storage() any {
	zone := model.NodeSelectorTerm{Labels: []model.Requirement{{Key: "zone", Op: model.In, Values: []string{d.pick("a", "b")}}}}
	class := d.pick("local", "made")
	switch d.IntN(8) {
	case 0, 1:
		pv := &model.PersistentVolume{Name: d.pick("pv1", "pv2", "pv3"), Class: "local", Capacity: int64(5 + d.IntN(8)), AccessModes: model.ReadWriteOnce | model.ReadWriteOncePod, Phase: "Available"}
		if d.oneIn(2) {
			pv.Affinity = &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{zone}}
		}
		if d.oneIn(4) {
			pv.Labels = model.Labels{{Key: "topology.kubernetes.io/zone", Value: d.pick("a", "b")}}
		}
		if d.oneIn(2) {
			pv.CSI = model.CSIVolume{Driver: "csi.x", Handle: pv.Name}
		}
		if d.oneIn(3) {
			pv.Claim = model.ClaimRef{Namespace: "x", Name: d.pick("data", "logs")}
		}
		return pv
	case 2, 3:
		c := &model.PersistentVolumeClaim{Namespace: d.pick("x", "x", "y"), Name: d.pick("data", "logs", "made", "bound"), Class: &class, Request: int64(d.IntN(10)),
			AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[d.IntN(2)], Lost: d.oneIn(12)}
		if c.UID = c.Name; c.Name == "bound" {
			c.VolumeName, c.Bound = d.pick("pv1", "pv2", "pv3"), !d.oneIn(6)
		}
		return c
	case 4:
		storageClass := &model.StorageClass{Name: class, Provisioner: "csi.x", WaitForFirstConsumer: !d.oneIn(6)}
		if class == "local" {
			storageClass.Provisioner = "kubernetes.io/no-provisioner"
		} else if d.oneIn(2) {
			storageClass.Topologies = []model.NodeSelectorTerm{zone}
		}
		return storageClass
	case 5:
		n := &model.CSINode{Name: fmt.Sprint("n", d.IntN(8))}
		if !d.oneIn(3) {
			n.Drivers = []model.CSINodeDriver{{Name: "csi.x", Limit: int64(d.IntN(4) - 1)}}
		}
		return n
	case 6:
		return &model.CSIDriver{Name: "csi.x", StorageCapacity: d.oneIn(3), PreventPodSchedulingIfMissing: d.oneIn(3)}
	}
	capacity := int64(d.IntN(12))
	if d.oneIn(2) {
		return &model.VolumeAttachment{Name: d.pick("va1", "va2"), Attacher: "csi.x", Node: fmt.Sprint("n", d.IntN(8)), Volume: d.pick("pv1", "pv2")}
	}
	return &model.CSIStorageCapacity{Namespace: "x", Name: d.pick("c1", "c2"), Class: "made", Topology: &model.Selector{}, Capacity: &capacity}
}
