package cluster

import "github.com/berthproject/berth/engine/model"

// Upsert adds or updates an object, a pointer to a value of engine/model. It reports whether the state holds objects of
// that type.
func (s *State) Upsert(object any) bool {
	switch o := object.(type) {
	case *model.Pod:
		s.UpsertPod(o)
	case *model.Node:
		s.UpsertNode(o)
	case *model.Namespace:
		s.UpsertNamespace(*o)
	case *model.SpreadGroup:
		s.UpsertSpreadGroup(*o)
	case *model.Budget:
		s.UpsertBudget(o)
	case *model.PriorityClass:
		s.UpsertPriorityClass(o)
	case *model.Hold:
		s.UpsertHold(o)
	case *model.ResourceClaim:
		s.UpsertResourceClaim(o)
	default:
		return s.upsertVolume(object)
	}
	return true
}

func (s *State) upsertVolume(object any) bool {
	switch o := object.(type) {
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
	default:
		return false
	}
	return true
}

// Remove removes an object that Upsert added. It reads only the identity of the object.
func (s *State) Remove(object any) {
	switch o := object.(type) {
	case *model.Pod:
		s.RemovePod(o.UID)
	case *model.Node:
		s.RemoveNode(o.Name)
	case *model.Namespace:
		s.RemoveNamespace(o.Name)
	case *model.SpreadGroup:
		s.RemoveSpreadGroup(o.Kind, o.Namespace, o.Name)
	case *model.Budget:
		s.RemoveBudget(o.Namespace, o.Name)
	case *model.PriorityClass:
		s.RemovePriorityClass(o.Name)
	case *model.Hold:
		s.RemoveHold(o.Namespace, o.Name)
	case *model.ResourceClaim:
		s.RemoveResourceClaim(o.Namespace, o.Name)
	case *model.PersistentVolume:
		s.RemovePV(o.Name)
	case *model.PersistentVolumeClaim:
		s.RemovePVC(o.Namespace, o.Name)
	case *model.StorageClass:
		s.RemoveStorageClass(o.Name)
	case *model.CSINode:
		s.RemoveCSINode(o.Name)
	case *model.CSIDriver:
		s.RemoveCSIDriver(o.Name)
	case *model.CSIStorageCapacity:
		s.RemoveCSIStorageCapacity(o.Namespace, o.Name)
	case *model.VolumeAttachment:
		s.RemoveVolumeAttachment(o.Name)
	}
}
