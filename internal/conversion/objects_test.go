package conversion

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/model"
)

// checkConversion decodes JSON, converts it and compares the result.
func checkConversion[K, M any](t *testing.T, convert func(*K) *M, text string, want M) {
	t.Helper()
	o := new(K)
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	if got := convert(o); !reflect.DeepEqual(*got, want) {
		t.Errorf("%s\ngot  %+v\nwant %+v", text, *got, want)
	}
}

func TestNode(t *testing.T) {
	checkConversion(t, New().Node, `{"metadata":{"name":"n","labels":{"b":"2","a":"1"}},
		"spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoExecute"},{"key":"odd","effect":"Never"}]},
		"status":{"allocatable":{"cpu":"1500m","memory":"1Gi","pods":"7","example.com/gpu":"2","hugepages-2Mi":"4Mi","odd":"9"},
			"images":[{"names":["a:1"],"sizeBytes":5}],"declaredFeatures":["Y","X"],"conditions":[{"type":"Ready","status":"True"}]}}`,
		model.Node{
			Name: "n", Labels: model.Labels{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}, Unschedulable: true, Ready: true, AllocatablePods: 7,
			Taints: []model.Taint{{Key: "k", Value: "v", Effect: model.NoExecute}},
			Allocatable: model.Resources{MilliCPU: 1500, Memory: 1 << 30, Scalars: []model.Scalar{
				{Name: "example.com/gpu", Amount: 2}, {Name: "hugepages-2Mi", Amount: 4 << 20}}},
			Images: []model.Image{{Names: []string{"a:1"}, Size: 5}}, Features: []string{"X", "Y"},
		})
	checkConversion(t, New().Node, `{"spec":{"podPreemptionPolicy":{"disableResizePreemption":["autoscaler"]}}}`, model.Node{NoResizePreemption: true})
	checkConversion(t, New().Node, `{"spec":{"podPreemptionPolicy":{"disableResizePreemption":[]}}}`, model.Node{})
}

func TestPodState(t *testing.T) {
	p := New().Pod(pod(t, `{"metadata":{"name":"p","namespace":"d","uid":"u","deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":30,
			"ownerReferences":[{"kind":"Job","name":"other"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"x","controller":true}]},
		"spec":{"nodeName":"n"},
		"status":{"phase":"Running","nominatedNodeName":"m","startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Ready","status":"True"},
			{"type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler"},{"type":"PodScheduled","status":"False","reason":"Unschedulable"}]}}`))
	p.Spec = nil
	want := model.Pod{
		Namespace: "d", Name: "p", UID: "u", NodeName: "n", NominatedNodeName: "m", Phase: model.Running, Ready: true, Deleting: true, GraceSeconds: 30,
		Owner:            model.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "r", UID: "x"},
		DisruptionReason: "PreemptionByScheduler", UnschedulableReason: "Unschedulable", Started: p.Started,
	}
	if !p.Started.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) || !reflect.DeepEqual(*p, want) {
		t.Errorf("got  %+v\nwant %+v", *p, want)
	}
}

func TestPersistentVolume(t *testing.T) {
	conv := New()
	checkConversion(t, conv.PersistentVolume, `{"metadata":{"name":"v"},"spec":{"storageClassName":"c","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],
		"volumeMode":"Block","csi":{"driver":"d","volumeHandle":"h"},"claimRef":{"namespace":"n","name":"c","uid":"u"},
		"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"z","operator":"In","values":["b","a"]}]}]}}},"status":{"phase":"Bound"}}`,
		model.PersistentVolume{
			Name: "v", Class: "c", Capacity: 1 << 30, AccessModes: model.ReadWriteOnce, Block: true, Phase: "Bound",
			CSI: model.CSIVolume{Driver: "d", Handle: "h"}, Claim: model.ClaimRef{Namespace: "n", Name: "c", UID: "u"},
			Affinity: &model.VolumeNodeAffinity{Terms: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: "z", Op: model.In, Values: []string{"a", "b"}}}}}},
		})
	checkConversion(t, conv.PersistentVolume, `{"spec":{"awsElasticBlockStore":{"volumeID":"aws://zone/vol-1"}}}`,
		model.PersistentVolume{CSI: model.CSIVolume{Driver: "ebs.csi.aws.com", Handle: "vol-1", InTree: "kubernetes.io/aws-ebs"}})
}

func TestClaimsAndDrivers(t *testing.T) {
	conv := New()
	class, zero := "beta", int64(0)
	checkConversion(t, conv.PersistentVolumeClaim, `{"metadata":{"name":"c","annotations":{"volume.beta.kubernetes.io/storage-class":"beta",
		"pv.kubernetes.io/bind-completed":"yes","volume.kubernetes.io/selected-node":"n"}},
		"spec":{"storageClassName":"new","volumeName":"v","accessModes":["ReadWriteOncePod","Odd"],"resources":{"requests":{"storage":"1.5"}},
		"selector":{"matchExpressions":[{"key":"k","operator":"Near"}]}},"status":{"phase":"Lost"}}`,
		model.PersistentVolumeClaim{Name: "c", Class: &class, VolumeName: "v", Bound: true, HasSelectedNode: true, SelectedNode: "n", Request: 2, Lost: true,
			AccessModes: model.ReadWriteOncePod | model.UnknownMode, SelectorError: `"Near" is not a valid label selector operator`})
	checkConversion(t, conv.StorageClass, `{"metadata":{"name":"c"},"provisioner":"p","volumeBindingMode":"WaitForFirstConsumer",
		"allowedTopologies":[{"matchLabelExpressions":[{"key":"z","values":["b","a"]}]}]}`,
		model.StorageClass{Name: "c", Provisioner: "p", WaitForFirstConsumer: true,
			Topologies: []model.NodeSelectorTerm{{Labels: []model.Requirement{{Key: "z", Op: model.In, Values: []string{"a", "b"}}}}}})
	checkConversion(t, conv.CSINode, `{"metadata":{"name":"n","annotations":{"storage.alpha.kubernetes.io/migrated-plugins":"kubernetes.io/gce-pd,kubernetes.io/aws-ebs"}},
		"spec":{"drivers":[{"name":"a","nodeID":"1","allocatable":{"count":3}},{"name":"b","nodeID":"2"}]}}`,
		model.CSINode{Name: "n", Migrated: []string{"kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"},
			Drivers: []model.CSINodeDriver{{Name: "a", NodeID: "1", Limit: 3}, {Name: "b", NodeID: "2", Limit: -1}}})
	checkConversion(t, conv.CSIStorageCapacity, `{"metadata":{"name":"c"},"storageClassName":"s","capacity":"0","nodeTopology":{}}`,
		model.CSIStorageCapacity{Name: "c", Class: "s", Capacity: &zero, Topology: &model.Selector{}})
	checkConversion(t, conv.VolumeAttachment, `{"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n","source":{"persistentVolumeName":"v"}}}`,
		model.VolumeAttachment{Name: "a", Attacher: "d", Node: "n", Volume: "v"})
}

func TestGroupSelectors(t *testing.T) {
	conv := New()
	checkConversion(t, conv.Service, `{"metadata":{"name":"s"}}`, model.SpreadGroup{Kind: "Service", Name: "s"})
	checkConversion(t, conv.Service, `{"metadata":{"name":"s"},"spec":{"selector":{"a":"1"}}}`, model.SpreadGroup{Kind: "Service", Name: "s",
		Selector: &model.Selector{Requirements: []model.Requirement{{Key: "a", Op: model.In, Values: []string{"1"}}}}})
	checkConversion(t, conv.Budget, `{"metadata":{"name":"b"},"spec":{"selector":{}},"status":{"disruptionsAllowed":1,"disruptedPods":{"y":null,"x":null}}}`,
		model.Budget{Name: "b", Selector: &model.Selector{}, DisruptionsAllowed: 1, Disrupted: []string{"x", "y"}, DisruptedAt: make([]time.Time, 2)})
}

func TestBudgetAmounts(t *testing.T) {
	conv := New()
	checkConversion(t, conv.Budget, `{"spec":{"minAvailable":2,"unhealthyPodEvictionPolicy":"AlwaysAllow"},"status":{"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"no scale"}]}}`,
		model.Budget{MinAvailable: model.IntOrPercent{Set: true, Value: 2}, AlwaysAllowUnhealthy: true, SyncError: "no scale"})
	checkConversion(t, conv.Budget, `{"spec":{"maxUnavailable":"30%","unhealthyPodEvictionPolicy":"IfHealthyBudget"}}`,
		model.Budget{MaxUnavailable: model.IntOrPercent{Set: true, Percent: true, Value: 30}})
	checkConversion(t, conv.Budget, `{"spec":{"maxUnavailable":"thirty"}}`,
		model.Budget{SpecError: `spec.maxUnavailable "thirty": must be a number or a percentage such as 30%`})
}

func TestMigratedVolumeAffinity(t *testing.T) {
	conv := New()
	translated := func(zone string) *model.PersistentVolume {
		v := &corev1.PersistentVolume{}
		v.Labels = map[string]string{corev1.LabelTopologyZone: zone}
		v.Spec.GCEPersistentDisk = &corev1.GCEPersistentDiskVolumeSource{PDName: "g"}
		return conv.PersistentVolume(v)
	}
	v := translated("z1")
	want := model.Requirement{Key: "topology.gke.io/zone", Op: model.In, Values: []string{"z1"}}
	if v.Affinity != nil || v.Migrated == nil || len(v.Migrated.Terms) != 1 || !reflect.DeepEqual(v.Migrated.Terms[0].Labels, []model.Requirement{want}) {
		t.Errorf("got migrated affinity %+v, want %v", v.Migrated, want)
	}
	if v.CSI.Handle != "projects/UNSPECIFIED/zones/z1/disks/g" {
		t.Errorf("got handle %q, want one in zone z1", v.CSI.Handle)
	}
	const migrationError = "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: z1"
	if v := translated("z1__z2"); v.MigrationError != migrationError {
		t.Errorf("got migration error %q, want %q", v.MigrationError, migrationError)
	}
}

func TestPodVolumes(t *testing.T) {
	s := New().Pod(pod(t, `{"metadata":{"name":"p"},"spec":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"c"}},{"name":"b","ephemeral":{}},
		{"name":"d","rbd":{"monitors":["m2","m1"],"image":"i"}},{"name":"e","gcePersistentDisk":{"pdName":"g","readOnly":true}},{"name":"f","image":{"reference":"r"}}]}}`)).Spec
	want := model.PodSpec{
		Claims: []model.PodClaim{{Volume: "a", Claim: "c"}, {Volume: "b", Claim: "p-b", Ephemeral: true}},
		Disks:  []model.InTreeDisk{{Kind: model.RBDDisk, ID: "rbd/i", Monitors: []string{"m1", "m2"}}, {Kind: model.GCEDisk, ID: "g", ReadOnly: true}},
		Inline: []model.CSIVolume{{Driver: "pd.csi.storage.gke.io", Handle: "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/g", InTree: "kubernetes.io/gce-pd"}},
		Images: []string{"r:latest"},
	}
	if !reflect.DeepEqual(s.Claims, want.Claims) || !reflect.DeepEqual(s.Disks, want.Disks) || !reflect.DeepEqual(s.Inline, want.Inline) || !reflect.DeepEqual(s.Images, want.Images) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}
