package descheduler

import (
	"github.com/berthproject/berth/engine/model"
)

// upsert adds or updates an object.
func (w *clusterState) upsert(o any) {
	s := w.view.State
	switch o := o.(type) {
	case *model.Pod:
		w.upsertPod(o)
	case *model.Node:
		s.UpsertNode(o)
	case *model.Namespace:
		w.namespaces[o.Name] = o.Labels
		s.UpsertNamespace(*o)
	case *model.SpreadGroup:
		s.UpsertSpreadGroup(*o)
	case *model.Budget:
		s.UpsertBudget(o)
	case *model.PriorityClass:
		w.priorities[o.Name] = o.Value
		s.UpsertPriorityClass(o)
	case *model.Hold:
		s.UpsertHold(o)
	case *model.ResourceClaim:
		s.UpsertResourceClaim(o)
	case *model.PersistentVolumeClaim:
		w.claimStorageClasses[o.Namespace+"/"+o.Name] = o.ClassName()
		s.UpsertPVC(o)
	default:
		w.upsertVolume(o)
	}
}

func (w *clusterState) upsertPod(p *model.Pod) {
	if !w.knownSchedulers[p.Spec.SchedulerName] {
		p = p.WithoutNomination()
	}
	w.pods[p.UID] = p
	w.view.Upsert(p)
	w.view.State.UpsertPod(p)
}

func (w *clusterState) upsertVolume(o any) {
	s := w.view.State
	switch o := o.(type) {
	case *model.PersistentVolume:
		s.UpsertPV(o)
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
	}
}

// remove removes an object. It reads only the identity of o.
func (w *clusterState) remove(o any) {
	s := w.view.State
	switch o := o.(type) {
	case *model.Pod:
		w.removePod(o.UID)
	case *model.Node:
		if id, ok := s.NodeID(o.Name); ok { // by UID: a new node of the same name may already exist
			w.mu.Lock()
			delete(w.notReady, s.Node(id).Model.UID)
			w.mu.Unlock()
		}
		s.RemoveNode(o.Name)
	case *model.Namespace:
		delete(w.namespaces, o.Name)
		s.RemoveNamespace(o.Name)
	case *model.SpreadGroup:
		s.RemoveSpreadGroup(o.Kind, o.Namespace, o.Name)
	case *model.Budget:
		s.RemoveBudget(o.Namespace, o.Name)
	case *model.PriorityClass:
		delete(w.priorities, o.Name)
		s.RemovePriorityClass(o.Name)
	case *model.Hold:
		s.RemoveHold(o.Namespace, o.Name)
	case *model.ResourceClaim:
		s.RemoveResourceClaim(o.Namespace, o.Name)
	case *model.PersistentVolumeClaim:
		delete(w.claimStorageClasses, o.Namespace+"/"+o.Name)
		s.RemovePVC(o.Namespace, o.Name)
	default:
		w.removeVolume(o)
	}
}

func (w *clusterState) removePod(uid string) {
	w.mu.Lock()
	delete(w.podDetails, uid)
	w.mu.Unlock()
	delete(w.pods, uid)
	w.view.Remove(uid)
	w.view.State.RemovePod(uid)
}

func (w *clusterState) removeVolume(o any) {
	s := w.view.State
	switch o := o.(type) {
	case *model.PersistentVolume:
		s.RemovePV(o.Name)
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
