package scheduling

import (
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// upsertVolume takes in what has to do with volumes, and says what kind of change it
// is; none for anything else.
func (m *Machine) upsertVolume(object any) decision.Change {
	switch o := object.(type) {
	case *model.PersistentVolume:
		m.state.UpsertPV(o)
		return decision.VolumeChanged
	case *model.PersistentVolumeClaim:
		m.state.UpsertPVC(o)
		return decision.ClaimChanged
	case *model.StorageClass:
		m.state.UpsertStorageClass(o)
		return decision.ClassChanged
	case *model.CSINode:
		m.state.UpsertCSINode(o)
		return decision.CSINodeChanged
	case *model.CSIDriver:
		m.state.UpsertCSIDriver(o)
		return decision.CSIDriverChanged
	case *model.CSIStorageCapacity:
		m.state.UpsertCSIStorageCapacity(o)
		return decision.CapacityChanged
	case *model.VolumeAttachment:
		m.state.UpsertVolumeAttachment(o)
		return decision.AttachmentChanged
	}
	return decision.NoChange
}

// removeVolume is upsertVolume for what is gone.
func (m *Machine) removeVolume(object any) decision.Change {
	switch o := object.(type) {
	case *model.PersistentVolume:
		m.state.RemovePV(o.Name)
		return decision.VolumeChanged
	case *model.PersistentVolumeClaim:
		m.state.RemovePVC(o.Namespace, o.Name)
		return decision.ClaimChanged
	case *model.StorageClass:
		m.state.RemoveStorageClass(o.Name)
		return decision.ClassChanged
	case *model.CSINode:
		m.state.RemoveCSINode(o.Name)
		return decision.CSINodeChanged
	case *model.CSIDriver:
		m.state.RemoveCSIDriver(o.Name)
		return decision.CSIDriverChanged
	case *model.CSIStorageCapacity:
		m.state.RemoveCSIStorageCapacity(o.Namespace, o.Name)
		return decision.CapacityChanged
	case *model.VolumeAttachment:
		m.state.RemoveVolumeAttachment(o.Name)
		return decision.AttachmentChanged
	}
	return decision.NoChange
}
