package descheduler

import (
	"github.com/berthproject/berth/engine/model"
)

// put takes in how an object is.
func (w *world) put(o any) {
	s := w.view.State
	switch o := o.(type) {
	case *model.Pod:
		w.putPod(o)
	case *model.Node:
		s.UpsertNode(o)
	case *model.Namespace:
		w.namespaces[o.Name] = o.Labels
		s.UpsertNamespace(*o)
	case *model.Group:
		s.UpsertGroup(*o)
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
		w.classes[o.Namespace+"/"+o.Name] = o.ClassName()
		s.UpsertPVC(o)
	default:
		w.putVolume(o)
	}
}

func (w *world) putPod(p *model.Pod) {
	if !w.ours[p.Spec.SchedulerName] {
		p = p.Unnominated()
	}
	w.pods[p.UID] = p
	w.view.Put(p)
	w.view.State.UpsertPod(p)
}

func (w *world) putVolume(o any) {
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

// drop takes in that an object is gone; of o only the identity is read.
func (w *world) drop(o any) {
	s := w.view.State
	switch o := o.(type) {
	case *model.Pod:
		w.dropPod(o.UID)
	case *model.Node:
		if id, known := s.NodeID(o.Name); known { // by uid: its namesake may have been shown already
			w.mu.Lock()
			delete(w.unready, s.Node(id).Model.UID)
			w.mu.Unlock()
		}
		s.RemoveNode(o.Name)
	case *model.Namespace:
		delete(w.namespaces, o.Name)
		s.RemoveNamespace(o.Name)
	case *model.Group:
		s.RemoveGroup(o.Kind, o.Namespace, o.Name)
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
		delete(w.classes, o.Namespace+"/"+o.Name)
		s.RemovePVC(o.Namespace, o.Name)
	default:
		w.dropVolume(o)
	}
}

func (w *world) dropPod(uid string) {
	w.mu.Lock()
	delete(w.facts, uid)
	w.mu.Unlock()
	delete(w.pods, uid)
	w.view.Remove(uid)
	w.view.State.RemovePod(uid)
}

func (w *world) dropVolume(o any) {
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
