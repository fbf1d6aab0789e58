package cases

import "fmt"

// volumes contains the names of the storage objects of a case.
type volumes struct {
	claims []string // in namespace default
}

const driver = "csi.example.com"

// storage makes classes, volumes and claims. Pods then use some of the claims.
func (w *caseBuilder) storage() {
	for _, name := range []string{"now", "later", "other", "static"} {
		c := manifest("storage.k8s.io/v1", "StorageClass", object{"name": name})
		c["provisioner"] = pick(w, driver, driver, "csi.other.com", "kubernetes.io/gce-pd")
		c["volumeBindingMode"] = "WaitForFirstConsumer"
		switch {
		case name == "now":
			c["volumeBindingMode"] = "Immediate"
		case name == "static":
			c["provisioner"] = "kubernetes.io/no-provisioner"
		case w.chance(0.3):
			c["allowedTopologies"] = []object{{"matchLabelExpressions": []object{{"key": pick(w, zone, "rack"), "values": pickSome(w, 1+w.IntN(2), "z1", "z2", "a")}}}}
		}
		w.others = append(w.others, c)
	}
	for i := range w.IntN(5) + 2 {
		w.claim(fmt.Sprintf("c%d", i))
	}
	for i := range w.IntN(4) {
		w.others = append(w.others, w.persistent(fmt.Sprintf("free%d", i), pick(w, "static", "later", "now"), nil))
	}
	if w.chance(0.4) {
		d := manifest("storage.k8s.io/v1", "CSIDriver", object{"name": driver})
		d["spec"] = object{"storageCapacity": w.chance(0.8), "attachRequired": w.chance(0.8)}
		w.others = append(w.others, d)
		w.capacities()
	}
}

func (w *caseBuilder) capacities() {
	for i := range w.IntN(4) {
		c := manifest("storage.k8s.io/v1", "CSIStorageCapacity", object{"name": fmt.Sprintf("cap%d", i), "namespace": "kube-system"})
		c["storageClassName"] = pick(w, "later", "later", "other")
		if w.chance(0.85) {
			c["nodeTopology"] = pick(w, object{}, object{"matchLabels": object{zone: pick(w, "z1", "z2", "z3")}}, object{"matchExpressions": []object{{"key": "disk", "operator": "Exists"}}})
		}
		if w.chance(0.9) {
			c["capacity"] = pick(w, "1Gi", "5Gi", "100Gi", "0")
		}
		if w.chance(0.2) {
			c["maximumVolumeSize"] = pick(w, "1Gi", "50Gi")
		}
		w.others = append(w.others, c)
	}
}

func (w *caseBuilder) modes() []string {
	return pick(w, []string{"ReadWriteOnce"}, []string{"ReadWriteOnce"}, []string{"ReadWriteMany", "ReadOnlyMany"}, []string{"ReadWriteOncePod"})
}

// claim makes a claim that is bound, unbound, or in a state between.
func (w *caseBuilder) claim(name string) {
	class := pick(w, "now", "later", "later", "other", "static", "missing", "")
	metadata := object{"name": name, "namespace": "default"}
	spec := object{"accessModes": w.modes(), "resources": object{"requests": object{"storage": pick(w, "1Gi", "5Gi", "10Gi")}}, "storageClassName": class}
	status := object{"phase": "Pending"}
	if w.chance(0.03) {
		delete(spec, "storageClassName")
	}
	annotations := object{}
	switch {
	case w.chance(0.5):
		spec["volumeName"], status["phase"] = "pv-"+name, "Bound"
		if w.chance(0.95) {
			annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}
		if w.chance(0.93) {
			w.others = append(w.others, w.persistent("pv-"+name, class, object{"namespace": "default", "name": name, "uid": ""}))
		}
	case w.chance(0.15):
		annotations["volume.kubernetes.io/selected-node"] = pick(w, "n01", "n02", "ghost")
	case w.chance(0.08):
		status["phase"] = "Lost"
	}
	if w.chance(0.15) {
		spec["selector"] = object{"matchLabels": object{"kind": pick(w, "x", "y")}}
	}
	if w.chance(0.1) {
		spec["volumeMode"] = pick(w, "Block", "Filesystem")
	}
	if w.chance(0.04) {
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	c := manifest("v1", "PersistentVolumeClaim", metadata)
	c["spec"], c["status"] = spec, status
	w.others = append(w.others, c)
	w.volumes.claims = append(w.volumes.claims, name)
}

func (w *caseBuilder) persistent(name, class string, claim object) object {
	metadata, labels := object{"name": name}, object{}
	if w.chance(0.3) {
		labels["kind"] = pick(w, "x", "y")
	}
	if w.chance(0.2) {
		labels[pick(w, zone, region, "failure-domain.beta.kubernetes.io/zone")] = pick(w, "z1", "z2", "r1", "z1__z2")
	}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	spec := object{
		"capacity": object{"storage": pick(w, "1Gi", "5Gi", "10Gi", "20Gi")}, "accessModes": w.modes(),
		"storageClassName": class, "persistentVolumeReclaimPolicy": "Retain",
	}
	switch w.IntN(6) {
	case 0, 1, 2:
		spec["csi"] = object{"driver": driver, "volumeHandle": pick(w, name, name, "shared")}
	case 3:
		spec["gcePersistentDisk"] = object{"pdName": pick(w, "d1", name)}
	case 4:
		spec["local"] = object{"path": "/mnt/x"}
	default:
		spec["nfs"] = object{"server": "s", "path": "/x"}
	}
	if w.chance(0.45) || spec["local"] != nil {
		spec["nodeAffinity"] = object{"required": object{"nodeSelectorTerms": []object{w.volumeTerm()}}}
	}
	if w.chance(0.1) {
		spec["volumeMode"] = pick(w, "Block", "Filesystem")
	}
	status := object{"phase": "Available"}
	if claim != nil {
		spec["claimRef"] = object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim["namespace"], "name": claim["name"]}
		status["phase"] = "Bound"
	} else if w.chance(0.15) {
		spec["claimRef"] = object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": pick(w, "c0", "c1", "gone")}
	}
	if w.chance(0.05) {
		status["phase"] = pick(w, "Released", "Failed", "Pending")
	}
	if w.chance(0.04) {
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	}
	v := manifest("v1", "PersistentVolume", metadata)
	v["spec"], v["status"] = spec, status
	return v
}

func (w *caseBuilder) volumeTerm() object {
	return object{"matchExpressions": []object{{"key": pick(w, zone, hostname, "disk"), "operator": "In", "values": pickSome(w, 1+w.IntN(3), "z1", "z2", "z3", "n01", "n02", "ssd")}}}
}

// podVolumes adds volumes of all types to a pod.
func (w *caseBuilder) podVolumes(metadata, spec object) {
	var out []object
	for i := range w.IntN(3) + 1 {
		v := object{"name": fmt.Sprintf("v%d", i)}
		switch w.IntN(9) {
		case 0:
			v["gcePersistentDisk"] = object{"pdName": pick(w, "d1", "d2"), "readOnly": w.chance(0.4)}
		case 1:
			v[pick(w, "awsElasticBlockStore")] = object{"volumeID": pick(w, "e1", "e2"), "readOnly": w.chance(0.4)}
		case 2:
			v["iscsi"] = object{"targetPortal": "10.0.0.1:3260", "iqn": pick(w, "iqn.x:1", "iqn.x:2"), "lun": pick(w, 0, 1), "readOnly": w.chance(0.4)}
		case 3:
			v["rbd"] = object{"monitors": pickSome(w, 1+w.IntN(2), "m1", "m2", "m3"), "image": pick(w, "i1", "i2"), "pool": "rbd", "readOnly": w.chance(0.4)}
		case 4:
			if w.chance(0.5) {
				v["csi"] = object{"driver": driver}
			} else {
				v["emptyDir"] = object{}
			}
		case 5:
			if w.chance(0.3) {
				w.ephemeral(metadata, v)
				break
			}
			fallthrough
		default:
			if metadata["namespace"] != "default" && w.chance(0.8) {
				v["emptyDir"] = object{}
				break
			}
			v["persistentVolumeClaim"] = object{"claimName": pick(w, pick(w, w.volumes.claims...), pick(w, w.volumes.claims...), "c0", "c1")}
			if w.chance(0.05) {
				v["persistentVolumeClaim"] = object{"claimName": "gone"}
			}
			if w.chance(0.1) {
				v["persistentVolumeClaim"].(object)["readOnly"] = true
			}
		}
		out = append(out, v)
	}
	spec["volumes"] = out
}

// ephemeral makes a volume whose claim belongs to the pod, if it exists.
func (w *caseBuilder) ephemeral(metadata, v object) {
	v["ephemeral"] = object{"volumeClaimTemplate": object{"spec": object{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "later", "resources": object{"requests": object{"storage": "1Gi"}}}}}
	if w.chance(0.3) {
		return
	}
	pod := metadata["name"].(string)
	c := manifest("v1", "PersistentVolumeClaim", object{"name": pod + "-" + v["name"].(string), "namespace": metadata["namespace"]})
	if w.chance(0.85) {
		uid := metadata["namespace"].(string) + "/" + pod
		c["metadata"].(object)["ownerReferences"] = []object{{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": true}}
	}
	c["spec"] = object{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "later", "resources": object{"requests": object{"storage": "1Gi"}}}
	c["status"] = object{"phase": "Pending"}
	w.others = append(w.others, c)
}

// nodeStorage makes CSINodes with limits, and attachments.
func (w *caseBuilder) nodeStorage() {
	for i, n := range w.nodes {
		name := n["metadata"].(object)["name"]
		if w.chance(0.25) {
			continue
		}
		metadata := object{"name": name}
		if w.chance(0.3) {
			metadata["annotations"] = object{"storage.alpha.kubernetes.io/migrated-plugins": pick(w, "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd")}
		}
		c := manifest("storage.k8s.io/v1", "CSINode", metadata)
		var drivers []object
		for _, d := range pickSome(w, w.IntN(3)+1, driver, "pd.csi.storage.gke.io", "ebs.csi.aws.com", "csi.other.com") {
			entry := object{"name": d, "nodeID": name}
			if w.chance(0.8) {
				entry["allocatable"] = object{"count": pick(w, 0, 1, 2, 3)}
				if w.chance(0.1) {
					entry["allocatable"] = object{}
				}
			}
			drivers = append(drivers, entry)
		}
		c["spec"] = object{"drivers": drivers}
		w.others = append(w.others, c)
		if w.chance(0.15) {
			a := manifest("storage.k8s.io/v1", "VolumeAttachment", object{"name": fmt.Sprintf("va%d", i)})
			a["spec"] = object{"attacher": driver, "nodeName": name, "source": object{"persistentVolumeName": pick(w, "pv-c0", "pv-c1", "pv-gone")}}
			a["status"] = object{"attached": true}
			w.others = append(w.others, a)
		}
	}
}
