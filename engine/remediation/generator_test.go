package remediation

import (
	"fmt"
	"math/rand/v2"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// generator creates small clusters with few free resources, and pods with many constraints.
type generator struct{ *rand.Rand }

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }
func (g generator) oneIn(n int) bool           { return g.IntN(n) == 0 }

const zoneKey = framework.ZoneKey

func (g generator) node(i int) *model.Node {
	labels := map[string]string{"disk": g.pick("ssd", "hdd"), "n": fmt.Sprint(g.IntN(4))}
	if !g.oneIn(10) {
		labels[framework.HostnameKey] = fmt.Sprint("node", i)
	}
	if !g.oneIn(8) {
		labels[zoneKey] = g.pick("a", "b", "c")
	}
	if g.oneIn(3) {
		labels["rack"] = fmt.Sprint("r", g.IntN(3))
	}
	n := &model.Node{Name: fmt.Sprint("node", i), Labels: model.LabelsOf(labels), AllocatablePods: int64(2 + g.IntN(6)), Unschedulable: g.oneIn(6),
		Allocatable: model.Resources{MilliCPU: int64(1+g.IntN(4)) * 500, Memory: int64(1+g.IntN(4)) << 28}}
	if g.oneIn(3) {
		n.Allocatable.Scalars = []model.Scalar{{Name: "x.io/gpu", Amount: int64(g.IntN(3))}}
	}
	if n.Unschedulable {
		n.Taints = append(n.Taints, model.Taint{Key: unschedulableKey, Effect: model.NoSchedule})
	}
	for g.oneIn(3) {
		n.Taints = append(n.Taints, model.Taint{Key: g.pick("t", "u", "node.kubernetes.io/not-ready"), Value: g.pick("", "v"),
			Effect: []model.Effect{model.NoSchedule, model.PreferNoSchedule, model.NoExecute}[g.IntN(3)]})
	}
	return n
}

func (g generator) selector() *model.Selector {
	r := model.Requirement{Key: "app", Op: model.In, Values: []string{g.pick("web", "db", "job")}}
	switch g.IntN(8) {
	case 0:
		r = model.Requirement{Key: "app", Op: model.Exists}
	case 1:
		r = model.Requirement{Key: "tier", Op: model.DoesNotExist}
	}
	return &model.Selector{Requirements: []model.Requirement{r}}
}

func (g generator) podTerm() model.PodAffinityTerm {
	return model.PodAffinityTerm{TopologyKey: g.pick(framework.HostnameKey, zoneKey, "rack", "none"), Selector: g.selector(), Namespaces: []string{g.pick("x", "x", "y")}}
}

func (g generator) nodeTerm() model.NodeSelectorTerm {
	r := model.Requirement{Key: "disk", Op: model.In, Values: []string{g.pick("ssd", "hdd", "nvme")}}
	switch g.IntN(6) {
	case 0:
		r = model.Requirement{Key: "n", Op: model.Gt, Values: []string{"2"}}
	case 1:
		r = model.Requirement{Key: g.pick("n", zoneKey), Op: model.NotIn, Values: []string{"1", "2", "a"}}
	case 2:
		r = model.Requirement{Key: "rack", Op: model.Exists}
	case 3:
		return model.NodeSelectorTerm{Fields: []model.Requirement{{Key: "metadata.name", Op: model.In, Values: []string{fmt.Sprint("node", g.IntN(6))}}}}
	}
	return model.NodeSelectorTerm{Labels: []model.Requirement{r}}
}

// spec returns a random specification; a lower rarity adds more constraints.
func (g generator) spec(rarity int) *model.PodSpec {
	s := &model.PodSpec{SchedulerName: "default-scheduler", Priority: int32(g.IntN(4)), NeverPreempts: g.oneIn(10), ImageContainers: 1}
	s.Requests = model.Resources{MilliCPU: int64(g.IntN(8)) * 100, Memory: int64(g.IntN(5)) << 27}
	if g.oneIn(3 * rarity) {
		s.Requests.Scalars = []model.Scalar{{Name: g.pick("x.io/gpu", "y.io/nic"), Amount: 1}}
	}
	s.Scoring = s.Requests
	for g.oneIn(2 * rarity) {
		s.Ports = append(s.Ports, model.HostPort{IP: "0.0.0.0", Protocol: "TCP", Port: int32(80 + g.IntN(2))})
	}
	for g.oneIn(rarity) {
		s.AntiAffinity = append(s.AntiAffinity, g.podTerm())
	}
	for g.oneIn(2 * rarity) {
		s.Affinity = append(s.Affinity, g.podTerm())
	}
	for g.oneIn(rarity) {
		s.Spread = append(s.Spread, model.SpreadConstraint{TopologyKey: g.pick(framework.HostnameKey, zoneKey, "rack"), MaxSkew: int32(1 + g.IntN(2)),
			MinDomains: int32(1 + g.IntN(2)), Hard: !g.oneIn(4), Selector: g.selector(), HonorTaints: g.oneIn(3)})
	}
	if g.oneIn(rarity) {
		s.NodeSelector.Labels = model.Labels{{Key: "disk", Value: g.pick("ssd", "hdd", "nvme")}}
	}
	if g.oneIn(rarity) {
		s.NodeSelector.HasRequired, s.NodeSelector.Required = true, []model.NodeSelectorTerm{g.nodeTerm()}
	}
	for g.oneIn(2) {
		s.Tolerations = append(s.Tolerations, model.Toleration{Key: g.pick("t", "u"), Op: model.TolExists})
	}
	for g.oneIn(3 * rarity) {
		s.Claims = append(s.Claims, model.PodClaim{Volume: "v", Claim: g.pick("local", "csi", "csi", "immediate", "none")})
	}
	for g.oneIn(6 * rarity) {
		s.Disks = append(s.Disks, model.InTreeDisk{Kind: model.AWSDisk, ID: g.pick("d1", "d2")})
	}
	return s
}

func (g generator) pod(name, node string, rarity int) *model.Pod {
	p := &model.Pod{Namespace: g.pick("x", "x", "y"), Name: name, UID: name, NodeName: node, Spec: g.spec(rarity)}
	p.Labels = model.LabelsOf(map[string]string{"app": g.pick("web", "db", "job")})
	return p
}

// cluster returns a state and a pending pod.
func (g generator) cluster() (*cluster.State, *model.Pod) {
	s := cluster.New()
	nodes := 1 + g.IntN(8)
	for i := range nodes {
		s.UpsertNode(g.node(i))
	}
	s.UpsertNamespace(model.Namespace{Name: "x"})
	local, csi, immediate := "local", "csi", "immediate"
	s.UpsertStorageClass(&model.StorageClass{Name: local, Provisioner: "kubernetes.io/no-provisioner", WaitForFirstConsumer: true})
	s.UpsertStorageClass(&model.StorageClass{Name: csi, Provisioner: "csi.x", WaitForFirstConsumer: true})
	s.UpsertCSIDriver(&model.CSIDriver{Name: "csi.x", StorageCapacity: g.oneIn(2), PreventPodSchedulingIfMissing: g.oneIn(2)})
	for _, class := range []*string{&local, &csi, &immediate} {
		s.UpsertPVC(&model.PersistentVolumeClaim{Namespace: "x", Name: *class, UID: *class, Class: class, Request: 5,
			AccessModes: []model.AccessModes{model.ReadWriteOnce, model.ReadWriteOncePod}[g.IntN(2)]})
	}
	for i := range nodes * (1 + g.IntN(4)) {
		s.UpsertPod(g.pod(fmt.Sprint("p", i), fmt.Sprint("node", g.IntN(nodes)), 8))
	}
	if g.oneIn(6) {
		n := g.pod("nominated", "", 8)
		n.NominatedNodeName = "node0"
		s.UpsertPod(n)
	}
	p := g.pod("pending", "", 3)
	if g.oneIn(10) {
		p.Spec.Gates = []string{"g"}
	}
	if g.oneIn(30) {
		p.Spec.ResourceClaims = []model.PodResourceClaim{{Name: "gpu", Claim: "c"}}
	}
	if g.oneIn(30) {
		p.Spec.SchedulingGroup = "g"
	}
	if g.oneIn(8) {
		p.Owner = model.Owner{Kind: "ReplicaSet", Name: "web", UID: "web"}
		for i := range nodes {
			if !g.oneIn(3) {
				s.UpsertHold(&model.Hold{Namespace: p.Namespace, Name: fmt.Sprint("avoid-", i), Type: model.Avoid, Owner: p.Owner, Node: fmt.Sprint("node", i), Count: 1})
			}
		}
	}
	s.UpsertPod(p)
	return s, p
}
