package tables

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations that mark the default class.
const (
	defaultClass     = "storageclass.kubernetes.io/is-default-class"
	betaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

func storageTable(resource schema.GroupResource) (Table, bool) {
	capacity, modes := stringColumn("Capacity", "Size of the volume."), stringColumn("Access Modes", "Access modes of the volume.")
	class, attributes := stringColumn("StorageClass", "Storage class."), stringColumn("VolumeAttributesClass", "Volume attributes class.")
	mode := wide(stringColumn("VolumeMode", "Filesystem or Block."))
	switch resource {
	case corev1.Resource("persistentvolumes"):
		return newTable(volumeRow, nameColumn(), capacity, modes, stringColumn("Reclaim Policy", "Reclaim policy of the volume."),
			stringColumn("Status", "Phase of the volume."), stringColumn("Claim", "Claim that is bound to the volume."), class, attributes, stringColumn("Reason", "Reason for the phase."), ageColumn(), mode)
	case corev1.Resource("persistentvolumeclaims"):
		return newTable(claimRow, nameColumn(), stringColumn("Status", "Phase of the claim."), stringColumn("Volume", "Volume that is bound to the claim."), capacity, modes, class, attributes, ageColumn(), mode)
	case storagev1.Resource("storageclasses"):
		return newTable(storageClassRow, nameColumn(), stringColumn("Provisioner", "Provisioner of the volumes."), stringColumn("ReclaimPolicy", "Reclaim policy of the volume."),
			stringColumn("VolumeBindingMode", "When claims are bound."), stringColumn("AllowVolumeExpansion", "Whether volumes can be expanded."), ageColumn())
	case storagev1.Resource("csinodes"):
		return newTable(func(n *storagev1.CSINode) []any { return []any{n.Name, int64(len(n.Spec.Drivers)), age(&n.ObjectMeta)} },
			nameColumn(), integerColumn("Drivers", "Number of drivers on the node."), ageColumn())
	case storagev1.Resource("csidrivers"):
		return newTable(driverRow, nameColumn(), booleanColumn("AttachRequired", "Whether volumes require attaching."), booleanColumn("PodInfoOnMount", "Whether mounts receive pod information."),
			booleanColumn("StorageCapacity", "Whether scheduling considers storage capacity."), stringColumn("TokenRequests", "Audiences of the tokens for mounts."),
			booleanColumn("RequiresRepublish", "Whether mounts are republished."), stringColumn("Modes", "Volume lifecycle modes."), ageColumn())
	case storagev1.Resource("csistoragecapacities"):
		return newTable(func(c *storagev1.CSIStorageCapacity) []any {
			available := "<unset>"
			if c.Capacity != nil {
				available = c.Capacity.String()
			}
			return []any{c.Name, c.StorageClassName, available}
		}, nameColumn(), stringColumn("StorageClassName", "Storage class."), stringColumn("Capacity", "Available capacity."))
	case storagev1.Resource("volumeattributesclasses"):
		return newTable(func(c *storagev1.VolumeAttributesClass) []any { return []any{c.Name, c.DriverName, age(&c.ObjectMeta)} },
			nameColumn(), stringColumn("DriverName", "CSI driver."), ageColumn())
	case storagev1.Resource("volumeattachments"):
		return newTable(func(a *storagev1.VolumeAttachment) []any {
			return []any{a.Name, a.Spec.Attacher, deref(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, a.Status.Attached, age(&a.ObjectMeta)}
		}, nameColumn(), stringColumn("Attacher", "Driver that attaches the volume."), stringColumn("PV", "Volume."), stringColumn("Node", "Node."), booleanColumn("Attached", "Whether the volume is attached."), ageColumn())
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
		storageClass(pv.Annotations, &pv.Spec.StorageClassName), deref(pv.Spec.VolumeAttributesClassName, "<unset>"), pv.Status.Reason, age(&pv.ObjectMeta),
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
	return []any{c.Name, phase, c.Spec.VolumeName, size, modes, storageClass(c.Annotations, c.Spec.StorageClassName),
		deref(c.Spec.VolumeAttributesClassName, "<unset>"), age(&c.ObjectMeta), string(deref(c.Spec.VolumeMode, "<unset>"))}
}

// storageClass returns the beta annotation if it is set, otherwise the field.
func storageClass(annotations map[string]string, name *string) string {
	if class, found := annotations[corev1.BetaStorageClassAnnotation]; found {
		return class
	}
	return deref(name, "")
}

// accessModes returns the abbreviated distinct modes in a fixed order.
func accessModes(list []corev1.PersistentVolumeAccessMode) string {
	seen := map[corev1.PersistentVolumeAccessMode]bool{}
	for _, m := range list {
		seen[m] = true
	}
	var short []string
	for _, m := range []struct {
		mode  corev1.PersistentVolumeAccessMode
		short string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if seen[m.mode] {
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
	format := func(list []string) string {
		if len(list) == 0 {
			return "<unset>"
		}
		return strings.Join(list, ",")
	}
	return []any{d.Name, deref(d.Spec.AttachRequired, true), deref(d.Spec.PodInfoOnMount, false), deref(d.Spec.StorageCapacity, false),
		format(audiences), deref(d.Spec.RequiresRepublish, false), orNone(strings.Join(modes, ",")), age(&d.ObjectMeta)}
}
