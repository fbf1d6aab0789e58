package scheduling

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// upsertVolume applies a storage object and returns the change; the zero Delta for other objects.
func (m *Machine) upsertVolume(object any) decision.Delta {
	switch o := object.(type) {
	case *model.PersistentVolume:
		old, _ := m.state.PV(o.Name)
		m.state.UpsertPV(o)
		return delta(decision.PVChanged, old, o)
	case *model.PersistentVolumeClaim:
		old, _ := m.state.PVC(o.Namespace, o.Name)
		m.state.UpsertPVC(o)
		return delta(decision.PVCChanged, old, o)
	case *model.StorageClass:
		old, _ := m.state.StorageClass(o.Name)
		m.state.UpsertStorageClass(o)
		return delta(decision.StorageClassChanged, old, o)
	case *model.CSINode:
		old, _ := m.state.CSINode(o.Name)
		m.state.UpsertCSINode(o)
		return delta(decision.CSINodeChanged, old, o)
	case *model.CSIDriver:
		old, _ := m.state.CSIDriver(o.Name)
		m.state.UpsertCSIDriver(o)
		return delta(decision.CSIDriverChanged, old, o)
	case *model.CSIStorageCapacity:
		m.state.UpsertCSIStorageCapacity(o)
		return delta(decision.CSIStorageCapacityChanged, nil, o)
	case *model.VolumeAttachment:
		m.state.UpsertVolumeAttachment(o)
		return delta(decision.VolumeAttachmentChanged, nil, o)
	}
	return decision.Delta{}
}

// removeVolume removes a storage object and returns the change.
func (m *Machine) removeVolume(object any) decision.Delta {
	switch o := object.(type) {
	case *model.PersistentVolume:
		old, _ := m.state.PV(o.Name)
		m.state.RemovePV(o.Name)
		return delta(decision.PVChanged, old, nil)
	case *model.PersistentVolumeClaim:
		old, _ := m.state.PVC(o.Namespace, o.Name)
		m.state.RemovePVC(o.Namespace, o.Name)
		return delta(decision.PVCChanged, old, nil)
	case *model.StorageClass:
		m.state.RemoveStorageClass(o.Name)
		return delta(decision.StorageClassChanged, o, nil)
	case *model.CSINode:
		m.state.RemoveCSINode(o.Name)
		return delta(decision.CSINodeChanged, o, nil)
	case *model.CSIDriver:
		m.state.RemoveCSIDriver(o.Name)
		return delta(decision.CSIDriverChanged, o, nil)
	case *model.CSIStorageCapacity:
		m.state.RemoveCSIStorageCapacity(o.Namespace, o.Name)
		return decision.Delta{Events: decision.CSIStorageCapacityChanged}
	case *model.VolumeAttachment:
		m.state.RemoveVolumeAttachment(o.Name)
		return decision.Delta{Events: decision.VolumeAttachmentChanged}
	}
	return decision.Delta{}
}
