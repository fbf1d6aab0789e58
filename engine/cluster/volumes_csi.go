package cluster

import (
	"cmp"

	"github.com/berthproject/berth/engine/model"
)

// CSINode returns the CSI drivers of a node.
func (s *State) CSINode(node string) (*model.CSINode, bool) { return s.volumes.csiNodes.get(node) }

// UpsertCSINode adds or updates a CSINode.
func (s *State) UpsertCSINode(n *model.CSINode) {
	s.revision++
	s.volumes.csiNodes.put(n.Name, n)
}

// RemoveCSINode deletes a CSINode.
func (s *State) RemoveCSINode(name string) {
	s.revision++
	s.volumes.csiNodes.del(name)
}

// CSIDriver returns a driver by name.
func (s *State) CSIDriver(name string) (*model.CSIDriver, bool) { return s.volumes.drivers.get(name) }

// UpsertCSIDriver adds or updates a CSIDriver.
func (s *State) UpsertCSIDriver(d *model.CSIDriver) {
	s.revision++
	s.volumes.drivers.put(d.Name, d)
}

// RemoveCSIDriver deletes a CSIDriver.
func (s *State) RemoveCSIDriver(name string) {
	s.revision++
	s.volumes.drivers.del(name)
}

// StorageCapacities returns the capacities of a class, sorted by namespace and name. The
// slice must not be changed.
func (s *State) StorageCapacities(class string) []*model.CSIStorageCapacity {
	list, _ := s.volumes.capacities.get(class)
	return list
}

func byCapacityName(a, b *model.CSIStorageCapacity) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// UpsertCSIStorageCapacity adds or updates a CSIStorageCapacity.
func (s *State) UpsertCSIStorageCapacity(c *model.CSIStorageCapacity) {
	s.RemoveCSIStorageCapacity(c.Namespace, c.Name)
	s.revision++
	s.volumes.capacityClass.put(c.Namespace+"/"+c.Name, c.Class)
	putSorted(&s.volumes.capacities, c.Class, c, byCapacityName)
}

// RemoveCSIStorageCapacity deletes a CSIStorageCapacity.
func (s *State) RemoveCSIStorageCapacity(namespace, name string) {
	class, ok := s.volumes.capacityClass.get(namespace + "/" + name)
	if !ok {
		return
	}
	s.revision++
	s.volumes.capacityClass.del(namespace + "/" + name)
	delSorted(&s.volumes.capacities, class, &model.CSIStorageCapacity{Namespace: namespace, Name: name}, byCapacityName)
}

// VolumeAttachments returns the attachments of a node, sorted by name. The slice must not
// be changed.
func (s *State) VolumeAttachments(node string) []*model.VolumeAttachment {
	list, _ := s.volumes.attached.get(node)
	return list
}

func byAttachmentName(a, b *model.VolumeAttachment) int { return cmp.Compare(a.Name, b.Name) }

// UpsertVolumeAttachment adds or updates a VolumeAttachment.
func (s *State) UpsertVolumeAttachment(a *model.VolumeAttachment) {
	s.RemoveVolumeAttachment(a.Name)
	s.revision++
	s.volumes.attachedTo.put(a.Name, a.Node)
	putSorted(&s.volumes.attached, a.Node, a, byAttachmentName)
}

// RemoveVolumeAttachment deletes a VolumeAttachment.
func (s *State) RemoveVolumeAttachment(name string) {
	node, ok := s.volumes.attachedTo.get(name)
	if !ok {
		return
	}
	s.revision++
	s.volumes.attachedTo.del(name)
	delSorted(&s.volumes.attached, node, &model.VolumeAttachment{Name: name}, byAttachmentName)
}
