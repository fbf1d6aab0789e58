package plugins_test

import (
	"testing"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
	"github.com/berthproject/berth/engine/placement/plugins"
	"github.com/berthproject/berth/internal/testkit/build"
)

// withObjects adds volumes, claims and drivers to a state.
func withObjects(s *cluster.State, objects ...any) *cluster.State {
	for _, o := range objects {
		switch o := o.(type) {
		case *model.PersistentVolume:
			s.UpsertPV(o)
		case *model.PersistentVolumeClaim:
			s.UpsertPVC(o)
		case *model.StorageClass:
			s.UpsertStorageClass(o)
		case *model.CSINode:
			s.UpsertCSINode(o)
		case *model.CSIDriver:
			s.UpsertCSIDriver(o)
		case *model.CSIStorageCapacity:
			s.UpsertCSIStorageCapacity(o)
		case *model.VolumeAttachment:
			s.UpsertVolumeAttachment(o)
		}
	}
	return s
}

// local returns a free volume of class "local" that only one node can use.
func local(name, node string, size int64) *model.PersistentVolume {
	return &model.PersistentVolume{
		Name: name, Class: "local", Capacity: size, AccessModes: model.ReadWriteOnce, Phase: "Available",
		Affinity: &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{build.LabelIn(framework.HostnameKey, node)}},
	}
}

// claim returns an unbound claim of a class.
func claim(name, class string, size int64) *model.PersistentVolumeClaim {
	return &model.PersistentVolumeClaim{Namespace: "default", Name: name, UID: name, Class: &class, Request: size, AccessModes: model.ReadWriteOnce}
}

func boundTo(name, volume string) *model.PersistentVolumeClaim {
	c := claim(name, "", 1)
	c.VolumeName, c.Bound = volume, true
	return c
}

func uses(claims ...string) build.PodOption {
	return build.Spec(func(s *model.PodSpec) {
		for _, c := range claims {
			s.Claims = append(s.Claims, model.PodClaim{Volume: c, Claim: c})
		}
	})
}

var (
	localClass       = &model.StorageClass{Name: "local", Provisioner: plugins.NoProvisioner, WaitForFirstConsumer: true}
	provisionedClass = &model.StorageClass{Name: "csi", Provisioner: "csi.example.com", WaitForFirstConsumer: true}
)

func TestVolumeBindingMatchesFreeVolumes(t *testing.T) {
	check := func(name, want string, objects ...any) {
		t.Helper()
		s := withObjects(build.NewState(build.Node("n1"), build.Node("n2")), localClass, claim("c", "local", 10), claim("d", "local", 5))
		if got := build.Verdicts(decide(t, withObjects(s, objects...), build.Pod("p", uses("c", "d")))); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	const none = "VolumeBinding (UAU): node(s) didn't find available persistent volumes to bind"
	check("no volume", "n1 "+none+"; n2 "+none)
	check("one volume is not enough for two claims", "n1 "+none+"; n2 "+none, local("a", "n1", 10))
	check("the smaller claim leaves the larger volume", "n2 "+none, local("a", "n1", 10), local("b", "n1", 6))
	check("too small", "n1 "+none+"; n2 "+none, local("a", "n1", 9), local("b", "n1", 6))
	reservedForOther := local("b", "n1", 6)
	reservedForOther.Claim = model.ClaimRef{Namespace: "default", Name: "other"}
	check("reserved for another claim", "n1 "+none+"; n2 "+none, local("a", "n1", 10), reservedForOther)
	reserved := local("b", "n2", 6)
	reserved.Claim = model.ClaimRef{Namespace: "default", Name: "d"}
	check("reserved for this claim on another node", "n1 "+none+"; n2 "+none, local("a", "n1", 10), local("x", "n1", 6), reserved)
	block := local("b", "n1", 6)
	block.Block = true
	check("another mode", "n1 "+none+"; n2 "+none, local("a", "n1", 10), block)
	released := local("b", "n1", 6)
	released.Phase = "Released"
	check("not available", "n1 "+none+"; n2 "+none, local("a", "n1", 10), released)
}

func TestVolumeBindingProvisions(t *testing.T) {
	ten, big := int64(10), int64(100)
	zonalClass := &model.StorageClass{Name: "csi", Provisioner: "csi.example.com", WaitForFirstConsumer: true,
		Topologies: []model.NodeSelectorTerm{build.LabelIn("zone", "z2")}}
	capacity := &model.CSIDriver{Name: "csi.example.com", StorageCapacity: true}
	check := func(name, want string, objects ...any) {
		t.Helper()
		s := withObjects(build.NewState(build.Node("n1", build.Zone("z1")), build.Node("n2", build.Zone("z2"))), claim("c", "csi", 50))
		if got := build.Verdicts(decide(t, withObjects(s, objects...), build.Pod("p", uses("c")))); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	check("anywhere", "", provisionedClass)
	check("allowed topology", "n1 VolumeBinding (UAU): node(s) didn't find available persistent volumes to bind", zonalClass)
	check("capacity in one zone", "n1 VolumeBinding (UAU): node(s) did not have enough free storage", provisionedClass, capacity,
		&model.CSIStorageCapacity{Name: "a", Class: "csi", Topology: build.Matches("zone", "z1"), Capacity: &ten},
		&model.CSIStorageCapacity{Name: "b", Class: "csi", Topology: build.Matches("zone", "z2"), Capacity: &big})
	check("maximumVolumeSize takes precedence over capacity", "n1 VolumeBinding (UAU): node(s) did not have enough free storage; n2 VolumeBinding (UAU): node(s) did not have enough free storage",
		provisionedClass, capacity, &model.CSIStorageCapacity{Name: "b", Class: "csi", Topology: build.Matches("zone", "z2"), Capacity: &big, MaxSize: &ten})
}

func TestVolumePluginsRejectAllNodes(t *testing.T) {
	check := func(name, want string, p *model.Pod, objects ...any) {
		t.Helper()
		r := decide(t, withObjects(build.NewState(build.Node("n1")), objects...), p)
		if r.PreFilter == nil || r.PreFilter.Plugin.String()+": "+r.PreFilter.Reasons[0].String() != want {
			t.Errorf("%s: got %+v, want %s", name, r.PreFilter, want)
		}
	}
	ephemeral := build.Pod("p", build.Spec(func(s *model.PodSpec) {
		s.Claims = []model.PodClaim{{Volume: "v", Claim: "p-v", Ephemeral: true}}
	}))
	immediate := &model.StorageClass{Name: "now", Provisioner: "csi.example.com"}
	lostClaim, terminating := boundTo("c", "missing"), boundTo("c", "v")
	lostClaim.Lost, terminating.Deleting = true, true
	check("no claim", `VolumeRestrictions: persistentvolumeclaim "c" not found`, build.Pod("p", uses("c")))
	check("unbound, immediate", "VolumeBinding: pod has unbound immediate PersistentVolumeClaims", build.Pod("p", uses("c")), immediate, claim("c", "now", 1))
	check("missing volume", `VolumeZone: persistentvolume "missing" not found`, build.Pod("p", uses("c")), boundTo("c", "missing"))
	check("lost", `VolumeBinding: persistentvolumeclaim "c" bound to non-existent persistentvolume "missing"`, build.Pod("p", uses("c")), lostClaim)
	check("deleting", `VolumeBinding: persistentvolumeclaim "c" is being deleted`, build.Pod("p", uses("c")), terminating)
	check("not created yet", `VolumeBinding: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"`, ephemeral)
	check("claim of another pod", "VolumeBinding: PVC default/p-v was not created for pod default/p (pod is not owner)", ephemeral, claim("p-v", "csi", 1))
}

func TestVolumeZone(t *testing.T) {
	pv := &model.PersistentVolume{Name: "v", Labels: model.Labels{{Key: plugins.BetaZoneKey, Value: "a__b"}}}
	s := withObjects(build.NewState(build.Node("n1", build.Labeled(framework.ZoneKey, "a")), build.Node("n2", build.Labeled(plugins.BetaZoneKey, "b")), build.Node("n3", build.Labeled(framework.ZoneKey, "c")), build.Node("n4")), pv, boundTo("c", "v"))
	const want = "n3 VolumeZone (UAU): node(s) had no available volume zone"
	if got := build.Verdicts(decide(t, s, build.Pod("p", uses("c")))); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestAttachLimits(t *testing.T) {
	pv := func(name string) *model.PersistentVolume {
		return &model.PersistentVolume{Name: name, CSI: model.CSIVolume{Driver: "d", Handle: "h-" + name}}
	}
	csiNode := func(node string) *model.CSINode {
		return &model.CSINode{Name: node, Drivers: []model.CSINodeDriver{{Name: "d", Limit: 2}}}
	}
	objects := []any{pv("1"), pv("2"), pv("3"), boundTo("c1", "1"), boundTo("c2", "2"), boundTo("c3", "3"), provisionedClass,
		csiNode("n1"), csiNode("n2"), csiNode("n3"), &model.VolumeAttachment{Name: "va", Attacher: "d", Node: "n2", Volume: "2"}}
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2"), build.Node("n3"), build.Node("n4"),
		build.Pod("a", build.OnNode("n1"), uses("c1", "c2")), build.Pod("b", build.OnNode("n2"), uses("c1")), build.Pod("c", build.OnNode("n3"), uses("c3"))), objects...)
	const full = "NodeVolumeLimits (U): node(s) exceed max volume count"
	if got, want := build.Verdicts(decide(t, s, build.Pod("p", uses("c3")))), "n1 "+full+"; n2 "+full; got != want {
		t.Errorf("a third volume: got %s\nwant %s", got, want)
	}
	if got, want := build.Verdicts(decide(t, s, build.Pod("p", uses("c2")))), "n2 "+full; got != want {
		t.Errorf("a volume in use on n1 and attached to n2: got %s\nwant %s", got, want)
	}
	withObjects(s, &model.CSIDriver{Name: "d", PreventPodSchedulingIfMissing: true})
	const missing = "n4 NodeVolumeLimits (UAU): node(s) did not have the CSI driver installed: d"
	if got, want := build.Verdicts(decide(t, s, build.Pod("p", uses("c2")))), "n2 "+full+"; "+missing; got != want {
		t.Errorf("driver missing: got %s\nwant %s", got, want)
	}
}

func TestEphemeralClaimOfAnotherPod(t *testing.T) {
	claimX := boundTo("x", "1")
	ephemeralClaim := build.Spec(func(s *model.PodSpec) { s.Claims = []model.PodClaim{{Claim: "x", Ephemeral: true}} })
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2"), build.Pod("a", build.OnNode("n2"), ephemeralClaim)), claimX, boundTo("c", "2"),
		&model.PersistentVolume{Name: "1"}, &model.PersistentVolume{Name: "2", CSI: model.CSIVolume{Driver: "d", Handle: "h"}},
		&model.CSINode{Name: "n2", Drivers: []model.CSINodeDriver{{Name: "d", Limit: 2}}})
	r := decide(t, s, build.Pod("p", uses("c")))
	const want = `running "NodeVolumeLimits" filter plugin: PVC default/x was not created for pod default/a (pod is not owner)`
	if r.Outcome != decision.Errored || r.Error != want {
		t.Errorf("got %s %q, want error %q", r.Outcome, r.Error, want)
	}
}

func TestVolumeRestrictions(t *testing.T) {
	exclusive := boundTo("c", "v")
	exclusive.AccessModes = model.ReadWriteOncePod
	s := withObjects(build.NewState(build.Node("n1"), build.Node("n2"), build.Pod("a", build.OnNode("n1"), uses("c"))), exclusive, &model.PersistentVolume{Name: "v"})
	const inUse = "VolumeRestrictions (U): node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
	if got, want := build.Verdicts(decide(t, s, build.Pod("p", uses("c")))), "n1 "+inUse+"; n2 "+inUse; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	free := withObjects(build.NewState(build.Node("n1"), build.Pod("a", func(p *model.Pod) { p.NominatedNodeName = "n1" }, uses("c"))), exclusive, &model.PersistentVolume{Name: "v"})
	if got := build.Verdicts(decide(t, free, build.Pod("p", uses("c")))); got != "" {
		t.Errorf("claim of a nominated pod: got verdicts %q, want none", got)
	}
	disk := func(kind model.InTreeDiskKind, readOnly bool, monitors ...string) build.PodOption {
		return build.Spec(func(s *model.PodSpec) {
			s.Disks = []model.InTreeDisk{{Kind: kind, ID: "x", ReadOnly: readOnly, Monitors: monitors}}
		})
	}
	check := func(a, b build.PodOption, conflict bool) {
		t.Helper()
		got := build.Verdicts(decide(t, build.NewState(build.Node("n1"), build.Pod("a", build.OnNode("n1"), a)), build.Pod("p", b)))
		if (got != "") != conflict {
			t.Errorf("got %q, want conflict %v", got, conflict)
		}
	}
	check(disk(model.GCEDisk, false), disk(model.GCEDisk, true), true)
	check(disk(model.GCEDisk, true), disk(model.GCEDisk, true), false)
	check(disk(model.AWSDisk, true), disk(model.AWSDisk, true), true)
	check(disk(model.RBDDisk, false, "m1", "m2"), disk(model.RBDDisk, false, "m2", "m3"), true)
	check(disk(model.RBDDisk, false, "m1"), disk(model.RBDDisk, false, "m3"), false)
	check(disk(model.ISCSIDisk, false), disk(model.GCEDisk, false), false)
}

// TestInTreeVolumesCountAgainstLimits checks that volumes of in-tree plugins with complete
// migration count on every node with CSI drivers, and other in-tree volumes do not.
func TestInTreeVolumesCountAgainstLimits(t *testing.T) {
	for plugin, want := range map[string]string{
		"kubernetes.io/gce-pd":         "n1 NodeVolumeLimits (U): node(s) exceed max volume count",
		"kubernetes.io/vsphere-volume": "",
	} {
		s := withObjects(build.NewState(build.Node("n1")), &model.CSINode{Name: "n1", Drivers: []model.CSINodeDriver{{Name: "d", Limit: 0}}})
		inline := build.Spec(func(s *model.PodSpec) { s.Inline = []model.CSIVolume{{Driver: "d", Handle: "h", InTree: plugin}} })
		if got := build.Verdicts(decide(t, s, build.Pod("p", inline))); got != want {
			t.Errorf("%s: got %q, want %q", plugin, got, want)
		}
	}
}
