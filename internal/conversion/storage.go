package conversion

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berthproject/berth/engine/model"
)

// PersistentVolume converts a volume.
func (conv *Converter) PersistentVolume(v *corev1.PersistentVolume) *model.PersistentVolume {
	out := &model.PersistentVolume{
		Name: v.Name, Labels: model.LabelsOf(v.Labels),
		Class:       volume.GetPersistentVolumeClass(v),
		Capacity:    storageRequest(v.Spec.Capacity),
		AccessModes: accessModes(v.Spec.AccessModes) &^ model.UnknownMode,
		Block:       isBlock(v.Spec.VolumeMode),
		Phase:       string(v.Status.Phase),
		CSI:         csiVolume(&v.Spec.PersistentVolumeSource),
		Deleting:    v.DeletionTimestamp != nil, AttributesClass: deref(v.Spec.VolumeAttributesClassName),
		ResourceVersion: v.ResourceVersion,
	}
	out.Affinity = volumeAffinity(v)
	migrate(out, v)
	if c := v.Spec.ClaimRef; c != nil {
		out.Claim = model.ClaimRef{Namespace: c.Namespace, Name: c.Name, UID: string(c.UID)}
	}
	return out
}

func volumeAffinity(v *corev1.PersistentVolume) *model.VolumeNodeAffinity {
	a := v.Spec.NodeAffinity
	if a == nil || a.Required == nil {
		return nil
	}
	out := &model.VolumeNodeAffinity{}
	for i := range a.Required.NodeSelectorTerms {
		out.Terms = append(out.Terms, volumeTerm(&a.Required.NodeSelectorTerms[i]))
	}
	return out
}

// volumeTerm converts a term of a volume's node affinity. kube-scheduler checks
// only labels there; fields always match.
func volumeTerm(t *corev1.NodeSelectorTerm) model.NodeSelectorTerm {
	out, _ := nodeTerm(t) // a malformed term matches nothing
	if len(out.Labels) == 0 && len(out.Fields) > 0 {
		out.Labels = []model.Requirement{{Op: model.DoesNotExist}} // no label has an empty key
	}
	out.Fields = nil
	return out
}

// PersistentVolumeClaim converts a claim.
func (conv *Converter) PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) *model.PersistentVolumeClaim {
	out := &model.PersistentVolumeClaim{
		Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), Labels: model.LabelsOf(c.Labels),
		VolumeName:  c.Spec.VolumeName,
		Request:     storageRequest(c.Spec.Resources.Requests),
		AccessModes: accessModes(c.Spec.AccessModes),
		Block:       isBlock(c.Spec.VolumeMode),
		Lost:        c.Status.Phase == corev1.ClaimLost,
		Deleting:    c.DeletionTimestamp != nil, Owner: controllerOf(c.OwnerReferences),
		AttributesClass: deref(c.Spec.VolumeAttributesClassName), ResourceVersion: c.ResourceVersion,
	}
	if volume.PersistentVolumeClaimHasClass(c) {
		class := volume.GetPersistentVolumeClaimClass(c)
		out.Class = &class
	}
	_, out.Bound = c.Annotations[volume.AnnBindCompleted]
	out.SelectedNode, out.HasSelectedNode = c.Annotations[volume.AnnSelectedNode]
	var err error
	if out.Selector, err = Selector(c.Spec.Selector); err != nil {
		out.SelectorError = err.Error()
	}
	return out
}

// StorageClass converts a storage class.
func (conv *Converter) StorageClass(c *storagev1.StorageClass) *model.StorageClass {
	out := &model.StorageClass{
		Name: c.Name, Provisioner: c.Provisioner,
		WaitForFirstConsumer: deref(c.VolumeBindingMode) == storagev1.VolumeBindingWaitForFirstConsumer,
	}
	for i := range c.AllowedTopologies {
		var term model.NodeSelectorTerm
		for _, e := range c.AllowedTopologies[i].MatchLabelExpressions {
			values := slices.Clone(e.Values)
			slices.Sort(values)
			term.Labels = append(term.Labels, model.Requirement{Key: e.Key, Op: model.In, Values: values})
		}
		out.Topologies = append(out.Topologies, term)
	}
	return out
}

// CSINode converts the drivers of a node.
func (conv *Converter) CSINode(n *storagev1.CSINode) *model.CSINode {
	out := &model.CSINode{Name: n.Name}
	for i := range n.Spec.Drivers {
		d := &n.Spec.Drivers[i]
		driver := model.CSINodeDriver{Name: d.Name, NodeID: d.NodeID, TopologyKeys: slices.Clone(d.TopologyKeys), Limit: -1}
		if d.Allocatable != nil && d.Allocatable.Count != nil {
			driver.Limit = int64(*d.Allocatable.Count)
		}
		out.Drivers = append(out.Drivers, driver)
	}
	if list := n.Annotations[corev1.MigratedPluginsAnnotationKey]; list != "" {
		out.Migrated = strings.Split(list, ",")
		slices.Sort(out.Migrated)
	}
	return out
}

// CSIDriver converts a CSI driver.
func (conv *Converter) CSIDriver(d *storagev1.CSIDriver) *model.CSIDriver {
	return &model.CSIDriver{
		Name: d.Name, StorageCapacity: deref(d.Spec.StorageCapacity),
		PreventPodSchedulingIfMissing: deref(d.Spec.PreventPodSchedulingIfMissing),
	}
}

// CSIStorageCapacity converts a storage capacity. A malformed topology matches no node.
func (conv *Converter) CSIStorageCapacity(c *storagev1.CSIStorageCapacity) *model.CSIStorageCapacity {
	out := &model.CSIStorageCapacity{
		Namespace: c.Namespace, Name: c.Name, Class: c.StorageClassName,
		Capacity: quantityBytes(c.Capacity), MaxSize: quantityBytes(c.MaximumVolumeSize),
	}
	out.Topology, _ = Selector(c.NodeTopology)
	return out
}

// VolumeAttachment converts a volume attachment.
func (conv *Converter) VolumeAttachment(a *storagev1.VolumeAttachment) *model.VolumeAttachment {
	return &model.VolumeAttachment{
		Name: a.Name, Attacher: a.Spec.Attacher, Node: a.Spec.NodeName, Volume: deref(a.Spec.Source.PersistentVolumeName),
	}
}

func storageRequest(list corev1.ResourceList) int64 {
	q := list[corev1.ResourceStorage]
	return q.Value()
}

func quantityBytes(q *resource.Quantity) *int64 {
	if q == nil {
		return nil
	}
	n := q.Value()
	return &n
}

func isBlock(m *corev1.PersistentVolumeMode) bool {
	return deref(m) == corev1.PersistentVolumeBlock
}

func accessModes(list []corev1.PersistentVolumeAccessMode) model.AccessModes {
	var out model.AccessModes
	for _, m := range list {
		switch m {
		case corev1.ReadWriteOnce:
			out |= model.ReadWriteOnce
		case corev1.ReadOnlyMany:
			out |= model.ReadOnlyMany
		case corev1.ReadWriteMany:
			out |= model.ReadWriteMany
		case corev1.ReadWriteOncePod:
			out |= model.ReadWriteOncePod
		default:
			out |= model.UnknownMode
		}
	}
	return out
}
