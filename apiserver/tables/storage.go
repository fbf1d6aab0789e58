package tables

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations that make a class the default one; the second is from before it was stable.
const (
	defaultClass     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

func storageTable(resource schema.GroupResource) (Table, bool) {
	capacity, modes := text("Capacity", "Size of the volume."), text("Access Modes", "How the volume can be mounted.")
	class, attributes := text("StorageClass", "Class of the volume."), text("VolumeAttributesClass", "Class of changeable attributes.")
	mode := wide(text("VolumeMode", "Filesystem or block device."))
	switch resource {
	case corev1.Resource("persistentvolumes"):
		return of(volumeRow, nameColumn(), capacity, modes, text("Reclaim Policy", "What happens when the claim is gone."),
			text("Status", "Phase of the volume."), text("Claim", "Whose it is."), class, attributes, text("Reason", "Why it is in this phase."), ageColumn(), mode)
	case corev1.Resource("persistentvolumeclaims"):
		return of(claimRow, nameColumn(), text("Status", "Phase of the claim."), text("Volume", "Volume that it got."), capacity, modes, class, attributes, ageColumn(), mode)
	case storagev1.Resource("storageclasses"):
		return of(storageClassRow, nameColumn(), text("Provisioner", "Who makes volumes."), text("ReclaimPolicy", "What happens when the claim is gone."),
			text("VolumeBindingMode", "When a claim gets its volume."), text("AllowVolumeExpansion", "Whether volumes can grow."), ageColumn())
	case storagev1.Resource("csinodes"):
		return of(func(n *storagev1.CSINode) []any { return []any{n.Name, int64(len(n.Spec.Drivers)), age(&n.ObjectMeta)} },
			nameColumn(), number("Drivers", "Number of drivers on the node."), ageColumn())
	case storagev1.Resource("csidrivers"):
		return of(driverRow, nameColumn(), flag("AttachRequired", "Whether volumes are attached."), flag("PodInfoOnMount", "Whether mounts are told of the pod."),
			flag("StorageCapacity", "Whether free storage counts in scheduling."), text("TokenRequests", "Audiences of tokens for mounts."),
			flag("RequiresRepublish", "Whether mounts are repeated."), text("Modes", "Kinds of volumes."), ageColumn())
	case storagev1.Resource("csistoragecapacities"):
		return of(func(c *storagev1.CSIStorageCapacity) []any {
			free := "<unset>"
			if c.Capacity != nil {
				free = c.Capacity.String()
			}
			return []any{c.Name, c.StorageClassName, free}
		}, nameColumn(), text("StorageClassName", "Class that the report is about."), text("Capacity", "Free storage."))
	case storagev1.Resource("volumeattachments"):
		return of(func(a *storagev1.VolumeAttachment) []any {
			return []any{a.Name, a.Spec.Attacher, deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, a.Status.Attached, age(&a.ObjectMeta)}
		}, nameColumn(), text("Attacher", "Driver that attaches."), text("PV", "Volume."), text("Node", "Node."), flag("Attached", "Whether it is attached."), ageColumn())
	}
	return Table{}, false
}

func volumeRow(pv *corev1.PersistentVolume) []any {
	claim := ""
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	phase := string(pv.Status.Phase)
	if pv.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	size := pv.Spec.Capacity[corev1.ResourceStorage]
	return []any{pv.Name, size.String(), accessModes(pv.Spec.AccessModes), string(pv.Spec.PersistentVolumeReclaimPolicy), phase, claim,
		class(pv.Annotations, &pv.Spec.StorageClassName), deref(pv.Spec.VolumeAttributesClassName, "<unset>"), pv.Status.Reason, age(&pv.ObjectMeta),
		string(deref(pv.Spec.VolumeMode, "<unset>"))}
}

func claimRow(c *corev1.PersistentVolumeClaim) []any {
	phase, size, modes := string(c.Status.Phase), "", ""
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	if c.Spec.VolumeName != "" {
		q := c.Status.Capacity[corev1.ResourceStorage]
		size, modes = q.String(), accessModes(c.Status.AccessModes)
	}
	return []any{c.Name, phase, c.Spec.VolumeName, size, modes, class(c.Annotations, c.Spec.StorageClassName),
		deref(c.Spec.VolumeAttributesClassName, "<unset>"), age(&c.ObjectMeta), string(deref(c.Spec.VolumeMode, "<unset>"))}
}

// class prefers the annotation that was there before the field.
func class(annotations map[string]string, name *string) string {
	if old, found := annotations[corev1.BetaStorageClassAnnotation]; found {
		return old
	}
	return deref(name, "")
}

// accessModes abbreviates each mode once, in a fixed order.
func accessModes(list []corev1.PersistentVolumeAccessMode) string {
	given := map[corev1.PersistentVolumeAccessMode]bool{}
	for _, m := range list {
		given[m] = true
	}
	var short []string
	for _, m := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if given[m.mode] {
			short = append(short, m.short)
		}
	}
	return strings.Join(short, ",")
}

func storageClassRow(sc *storagev1.StorageClass) []any {
	name := sc.Name
	if sc.Annotations[defaultClass] == "true" || sc.Annotations[betaDefaultClass] == "true" {
		name += " (default)"
	}
	return []any{name, sc.Provisioner, string(deref(sc.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
		string(deref(sc.VolumeBindingMode, "<unset>")), deref(sc.AllowVolumeExpansion, false), age(&sc.ObjectMeta)}
}

func driverRow(d *storagev1.CSIDriver) []any {
	var modes, audiences []string
	for _, m := range d.Spec.VolumeLifecycleModes {
		modes = append(modes, string(m))
	}
	for _, r := range d.Spec.TokenRequests {
		audiences = append(audiences, r.Audience)
	}
	shown := func(list []string) string {
		if len(list) == 0 {
			return "<unset>"
		}
		return strings.Join(list, ",")
	}
	return []any{d.Name, deref(d.Spec.AttachRequired, true), deref(d.Spec.PodInfoOnMount, false), deref(d.Spec.StorageCapacity, false),
		shown(audiences), deref(d.Spec.RequiresRepublish, false), orNone(strings.Join(modes, ",")), age(&d.ObjectMeta)}
}
