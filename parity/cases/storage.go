package cases

import "fmt"

const driver = "csi.example.com"

// storage makes classes, volumes and claims. Pods then use some of the claims.
func (b *caseBuilder) storage() {
	for _, name := range []string{"now", "later", "other", "static"} {
		c := manifest("storage.k8s.io/v1", "StorageClass", object{"name": name})
		c["provisioner"] = pick(b, driver, driver, "csi.other.com", "kubernetes.io/gce-pd")
		c["volumeBindingMode"] = "WaitForFirstConsumer"
		switch {
		case name == "now":
			c["volumeBindingMode"] = "Immediate"
		case name == "static":
			c["provisioner"] = "kubernetes.io/no-provisioner"
		case b.chance(0.3):
			c["allowedTopologies"] = []object{{"matchLabelExpressions": []object{{"key": pick(b, zone, "rack"), "values": pickSome(b, 1+b.IntN(2), "z1", "z2", "a")}}}}
		}
		b.others = append(b.others, c)
	}
	for i := range b.IntN(5) + 2 {
		b.claim(fmt.Sprintf("c%d", i))
	}
	for i := range b.IntN(4) {
		b.others = append(b.others, b.persistentVolume(fmt.Sprintf("free%d", i), pick(b, "static", "later", "now"), nil))
	}
	if b.chance(0.4) {
		d := manifest("storage.k8s.io/v1", "CSIDriver", object{"name": driver})
		d["spec"] = object{"storageCapacity": b.chance(0.8), "attachRequired": b.chance(0.8)}
		b.others = append(b.others, d)
		b.capacities()
	}
}

func (b *caseBuilder) capacities() {
	for i := range b.IntN(4) {
		c := manifest("storage.k8s.io/v1", "CSIStorageCapacity", object{"name": fmt.Sprintf("cap%d", i), "namespace": "kube-system"})
		c["storageClassName"] = pick(b, "later", "later", "other")
		if b.chance(0.85) {
			c["nodeTopology"] = pick(b, object{}, object{"matchLabels": object{zone: pick(b, "z1", "z2", "z3")}}, object{"matchExpressions": []object{{"key": "disk", "operator": "Exists"}}})
		}
		if b.chance(0.9) {
			c["capacity"] = pick(b, "1Gi", "5Gi", "100Gi", "0")
		}
		if b.chance(0.2) {
			c["maximumVolumeSize"] = pick(b, "1Gi", "50Gi")
		}
		b.others = append(b.others, c)
	}
}

func (b *caseBuilder) modes() []string {
	return pick(b, []string{"ReadWriteOnce"}, []string{"ReadWriteOnce"}, []string{"ReadWriteMany", "ReadOnlyMany"}, []string{"ReadWriteOncePod"})
}

// claim makes a claim that is bound, unbound, or in an intermediate state.
func (b *caseBuilder) claim(name string) {
	class := pick(b, "now", "later", "later", "other", "static", "missing", "")
	metadata := object{"name": name, "namespace": "default"}
	spec := object{"accessModes": b.modes(), "resources": object{"requests": object{"storage": pick(b, "1Gi", "5Gi", "10Gi")}}, "storageClassName": class}
	status := object{"phase": "Pending"}
	if b.chance(0.03) {
		delete(spec, "storageClassName")
	}
	annotations := object{}
	switch {
	case b.chance(0.5):
		spec["volumeName"], status["phase"] = "pv-"+name, "Bound"
		if b.chance(0.95) {
			annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}
		if b.chance(0.93) {
			b.others = append(b.others, b.persistentVolume("pv-"+name, class, object{"namespace": "default", "name": name, "uid": ""}))
		}
	case b.chance(0.15):
		annotations["volume.kubernetes.io/selected-node"] = pick(b, "n01", "n02", "ghost")
	case b.chance(0.08):
		status["phase"] = "Lost"
	}
	if b.chance(0.15) {
		spec["selector"] = object{"matchLabels": object{"kind": pick(b, "x", "y")}}
	}
	if b.chance(0.1) {
		spec["volumeMode"] = pick(b, "Block", "Filesystem")
	}
	if b.chance(0.04) {
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	c := manifest("v1", "PersistentVolumeClaim", metadata)
	c["spec"], c["status"] = spec, status
	b.others = append(b.others, c)
	b.claims = append(b.claims, name)
}

func (b *caseBuilder) persistentVolume(name, class string, claim object) object {
	metadata, labels := object{"name": name}, object{}
	if b.chance(0.3) {
		labels["kind"] = pick(b, "x", "y")
	}
	if b.chance(0.2) {
		labels[pick(b, zone, region, "failure-domain.beta.kubernetes.io/zone")] = pick(b, "z1", "z2", "r1", "z1__z2")
	}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	spec := object{
		"capacity": object{"storage": pick(b, "1Gi", "5Gi", "10Gi", "20Gi")}, "accessModes": b.modes(),
		"storageClassName": class, "persistentVolumeReclaimPolicy": "Retain",
	}
	switch b.IntN(6) {
	case 0, 1, 2:
		spec["csi"] = object{"driver": driver, "volumeHandle": pick(b, name, name, "shared")}
	case 3:
		spec["gcePersistentDisk"] = object{"pdName": pick(b, "d1", name)}
	case 4:
		spec["local"] = object{"path": "/mnt/x"}
	default:
		spec["nfs"] = object{"server": "s", "path": "/x"}
	}
	if b.chance(0.45) || spec["local"] != nil {
		spec["nodeAffinity"] = object{"required": object{"nodeSelectorTerms": []object{b.volumeTerm()}}}
	}
	if b.chance(0.1) {
		spec["volumeMode"] = pick(b, "Block", "Filesystem")
	}
	status := object{"phase": "Available"}
	if claim != nil {
		spec["claimRef"] = object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim["namespace"], "name": claim["name"]}
		status["phase"] = "Bound"
	} else if b.chance(0.15) {
		spec["claimRef"] = object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": pick(b, "c0", "c1", "gone")}
	}
	if b.chance(0.05) {
		status["phase"] = pick(b, "Released", "Failed", "Pending")
	}
	if b.chance(0.04) {
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	}
	v := manifest("v1", "PersistentVolume", metadata)
	v["spec"], v["status"] = spec, status
	return v
}

func (b *caseBuilder) volumeTerm() object {
	return object{"matchExpressions": []object{{"key": pick(b, zone, hostname, "disk"), "operator": "In", "values": pickSome(b, 1+b.IntN(3), "z1", "z2", "z3", "n01", "n02", "ssd")}}}
}

// podVolumes adds volumes of all types to a pod.
func (b *caseBuilder) podVolumes(metadata, spec object) {
	var out []object
	for i := range b.IntN(3) + 1 {
		v := object{"name": fmt.Sprintf("v%d", i)}
		switch b.IntN(9) {
		case 0:
			v["gcePersistentDisk"] = object{"pdName": pick(b, "d1", "d2"), "readOnly": b.chance(0.4)}
		case 1:
			v[pick(b, "awsElasticBlockStore")] = object{"volumeID": pick(b, "e1", "e2"), "readOnly": b.chance(0.4)}
		case 2:
			v["iscsi"] = object{"targetPortal": "10.0.0.1:3260", "iqn": pick(b, "iqn.x:1", "iqn.x:2"), "lun": pick(b, 0, 1), "readOnly": b.chance(0.4)}
		case 3:
			v["rbd"] = object{"monitors": pickSome(b, 1+b.IntN(2), "m1", "m2", "m3"), "image": pick(b, "i1", "i2"), "pool": "rbd", "readOnly": b.chance(0.4)}
		case 4:
			if b.chance(0.5) {
				v["csi"] = object{"driver": driver}
			} else {
				v["emptyDir"] = object{}
			}
		case 5:
			if b.chance(0.3) {
				b.ephemeral(metadata, v)
				break
			}
			fallthrough
		default:
			if metadata["namespace"] != "default" && b.chance(0.8) {
				v["emptyDir"] = object{}
				break
			}
			v["persistentVolumeClaim"] = object{"claimName": pick(b, pick(b, b.claims...), pick(b, b.claims...), "c0", "c1")}
			if b.chance(0.05) {
				v["persistentVolumeClaim"] = object{"claimName": "gone"}
			}
			if b.chance(0.1) {
				v["persistentVolumeClaim"].(object)["readOnly"] = true
			}
		}
		out = append(out, v)
	}
	spec["volumes"] = out
}

// ephemeral makes a volume whose claim belongs to the pod, if it exists.
func (b *caseBuilder) ephemeral(metadata, v object) {
	v["ephemeral"] = object{"volumeClaimTemplate": object{"spec": object{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "later", "resources": object{"requests": object{"storage": "1Gi"}}}}}
	if b.chance(0.3) {
		return
	}
	pod := metadata["name"].(string)
	c := manifest("v1", "PersistentVolumeClaim", object{"name": pod + "-" + v["name"].(string), "namespace": metadata["namespace"]})
	if b.chance(0.85) {
		uid := metadata["namespace"].(string) + "/" + pod
		c["metadata"].(object)["ownerReferences"] = []object{{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": true}}
	}
	c["spec"] = object{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "later", "resources": object{"requests": object{"storage": "1Gi"}}}
	c["status"] = object{"phase": "Pending"}
	b.others = append(b.others, c)
}

// nodeStorage makes CSINodes with limits, and attachments.
func (b *caseBuilder) nodeStorage() {
	for i, n := range b.nodes {
		name := n["metadata"].(object)["name"]
		if b.chance(0.25) {
			continue
		}
		metadata := object{"name": name}
		if b.chance(0.3) {
			metadata["annotations"] = object{"storage.alpha.kubernetes.io/migrated-plugins": pick(b, "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd")}
		}
		c := manifest("storage.k8s.io/v1", "CSINode", metadata)
		var drivers []object
		for _, d := range pickSome(b, b.IntN(3)+1, driver, "pd.csi.storage.gke.io", "ebs.csi.aws.com", "csi.other.com") {
			entry := object{"name": d, "nodeID": name}
			if b.chance(0.8) {
				entry["allocatable"] = object{"count": pick(b, 0, 1, 2, 3)}
				if b.chance(0.1) {
					entry["allocatable"] = object{}
				}
			}
			drivers = append(drivers, entry)
		}
		c["spec"] = object{"drivers": drivers}
		b.others = append(b.others, c)
		if b.chance(0.15) {
			a := manifest("storage.k8s.io/v1", "VolumeAttachment", object{"name": fmt.Sprintf("va%d", i)})
			a["spec"] = object{"attacher": driver, "nodeName": name, "source": object{"persistentVolumeName": pick(b, "pv-c0", "pv-c1", "pv-gone")}}
			a["status"] = object{"attached": true}
			b.others = append(b.others, a)
		}
	}
}
