package remediation

import (
	"fmt"
	"math/rand/v2"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// generator creates small clusters with few free resources and demanding pods.
type generator struct{ *rand.Rand }

func (d generator) pick(list ...string) string { return list[d.IntN(len(list))] }
func (d generator) oneIn(in int) bool          { return d.IntN(in) == 0 }

const zoneKey = "topology.kubernetes.io/zone"

func (d generator) node(i int) *model.Node {
	labels := map[string]string{"disk": d.pick("ssd", "hdd"), "n": fmt.Sprint(d.IntN(4))}
	if !d.oneIn(10) {
		labels[framework.HostnameKey] = fmt.Sprint("node", i)
	}
	if !d.oneIn(8) {
		labels[zoneKey] = d.pick("a", "b", "c")
	}
	if d.oneIn(3) {
		labels["rack"] = fmt.Sprint("r", d.IntN(3))
	}
	n := &model.Node{Name: fmt.Sprint("node", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(2 + d.IntN(6)), Unschedulable: d.oneIn(6),
		Allocatable: model.Resources{MilliCPU: int64(1+d.IntN(4)) * 500, Memory: int64(1+d.IntN(4)) << 28}}
	if d.oneIn(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(d.IntN(3))}}
	}
	if n.Unschedulable {
		n.Taints = append(n.Taints, model.Taint{Key: unschedulableKey, Effect: model.NoSchedule})
	}
	for d.oneIn(3) {
		n.Taints = append(n.Taints, model.Taint{Key: d.pick("t", "u", "node.kubernetes.io/not-ready"), Value: d.pick("", "v"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[d.IntN(3)]})
	}
	return n
}

func (d generator) selector() *model.Selector {
	r := model.Requirement{Key: "app", Op: model.In, Values: []string{d.pick("web", "db", "job")}}
	switch d.IntN(8) {
	case 0:
		r = model.Requirement{Key: "app", Op: model.Exists}
	case 1:
		r = model.Requirement{Key: "tier", Op: model.DoesNotExist}
	}
	return &model.Selector{Requirements: []model.Requirement{r}}
}

func (d generator) podTerm() model.PodAffinityTerm {
	return model.PodAffinityTerm{TopologyKey: d.pick(framework.HostnameKey, zoneKey, "rack", "none"), Selector: d.selector(), Namespaces: []string{d.pick("x", "x", "y")}}
}

func (d generator) nodeTerm() model.NodeSelectorTerm {
	r := model.Requirement{Key: "disk", Op: model.In, Values: []string{d.pick("ssd", "hdd", "nvme")}}
	switch d.IntN(6) {
	case 0:
		r = model.Requirement{Key: "n", Op: model.Gt, Values: []string{"2"}}
	case 1:
		r = model.Requirement{Key: d.pick("n", zoneKey), Op: model.NotIn, Values: []string{"1", "2", "a"}}
	case 2:
		r = model.Requirement{Key: "rack", Op: model.Exists}
	case 3:
		return model.NodeSelectorTerm{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("node", d.IntN(6))}}}}
	}
	return model.NodeSelectorTerm{Labels: []model.Requirement{r}}
}

// spec returns a random specification; a lower rarity makes it more demanding.
func (d generator) spec(rarity int) *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(d.IntN(4)), NeverPreempts: d.oneIn(10), ImageContainers: 1}
	s.Requests = model.Resources{MilliCPU: int64(d.IntN(8)) * 100, Memory: int64(d.IntN(5)) << 27}
	if d.oneIn(3 * rarity) {
		s.Requests.Scalars = []model.Scalar{{Name: d.pick("x.io/gpu", "y.io/nic"), Amount: 1}}
	}
	s.Scoring = s.Requests
	for d.oneIn(2 * rarity) {
		s.Ports = append(s.Ports, model.HostPort{IP: "0.0.0.0", Protocol: "TCP", Port: int32(80 + d.IntN(2))})
	}
	for d.oneIn(rarity) {
		s.AntiAffinity = append(s.AntiAffinity, d.podTerm())
	}
	for d.oneIn(2 * rarity) {
		s.Affinity = append(s.Affinity, d.podTerm())
	}
	for d.oneIn(rarity) {
		s.Spread = append(s.Spread, model.SpreadConstraint{TopologyKey: d.pick(framework.HostnameKey, zoneKey, "rack"), MaxSkew: int32(1 + d.IntN(2)),
			MinDomains: int32(1 + d.IntN(2)), Hard: !d.oneIn(4), Selector: d.selector(), HonorTaints: d.oneIn(3)})
	}
	if d.oneIn(rarity) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: d.pick("ssd", "hdd", "nvme")}}
	}
	if d.oneIn(rarity) {
		s.NodeSelector.HasRequired, s.NodeSelector.Required = true, []model.NodeSelectorTerm{d.nodeTerm()}
	}
	for d.oneIn(2) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: d.pick("t", "u"), Op: model.TolExists})
	}
	for d.oneIn(3 * rarity) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: d.pick("local", "made", "made", "now", "none")})
	}
	for d.oneIn(6 * rarity) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.AWSDisk, ID: d.pick("d1", "d2")})
	}
	return s
}

func (d generator) pod(name, node string, rarity int) *model.Pod {
	p := &model.Pod{Namespace: d.pick("x", "x", "y"), Name: name, UID: name, NodeName: node, Spec: d.spec(rarity)}
	p.Labels = model.LabelsOf(map[string]string{"app": d.pick("web", "db", "job")})
	return p
}

// cluster returns a state and a pending pod.
func (d generator) cluster() (*cluster.State, *model.Pod) {
	s := cluster.New()
	nodes := 1 + d.IntN(8)
	for i := range nodes {
		s.UpsertNode(d.node(i))
	}
	s.UpsertNamespace(model.Namespace{Name: "x"})
	local, made, now := "local", "made", "now"
	s.UpsertStorageClass(&model.StorageClass{Name: local, Provisioner: "kubernetes.io/no-provisioner", WaitForFirstConsumer: true})
	s.UpsertStorageClass(&model.StorageClass{Name: made, Provisioner: "csi.x", WaitForFirstConsumer: true})
	s.UpsertCSIDriver(&model.CSIDriver{Name: "csi.x", StorageCapacity: d.oneIn(2), PreventPodSchedulingIfMissing: d.oneIn(2)})
	for _, class := range []*string{&local, &made, &now} {
		s.UpsertPVC(&model.PersistentVolumeClaim{Namespace: "x", Name: *class, UID: *class, Class: class, Request: 5,
			AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[d.IntN(2)]})
	}
	for i := range nodes * (1 + d.IntN(4)) {
		s.UpsertPod(d.pod(fmt.Sprint("p", i), fmt.Sprint("node", d.IntN(nodes)), 8))
	}
	if d.oneIn(6) {
		n := d.pod("nominee", "", 8)
		n.NominatedNodeName = "node0"
		s.UpsertPod(n)
	}
	p := d.pod("pending", "", 3)
	if d.oneIn(10) {
		p.Spec.Gates = []string{"g"}
	}
	if d.oneIn(30) {
		p.Spec.ResourceClaims = []model.PodResourceClaim{{Name: "gpu", Claim: "c"}}
	}
	if d.oneIn(30) {
		p.Spec.SchedulingGroup = "g"
	}
	if d.oneIn(8) {
		p.Owner = model.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}
		for i := range nodes {
			if !d.oneIn(3) {
				s.UpsertHold(&model.Hold{Namespace: p.Namespace, Name: fmt.Sprint("avoid-", i), Type: model.Avoid, Owner: p.Owner, Node: fmt.Sprint("node", i), Count: 1})
			}
		}
	}
	s.UpsertPod(p)
	return s, p
}
