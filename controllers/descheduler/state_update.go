package descheduler

import (
	"github.com/berthproject/berth/engine/model"
)

// upsert adds or updates an object.
func (cs *clusterState) upsert(o any) {
	s := cs.view.State
	switch o := o.(type) {
	case *model.Pod:
		cs.upsertPod(o)
	case *model.Node:
		s.UpsertNode(o)
	case *model.Namespace:
		cs.namespaces[o.Name] = o.Labels
		s.UpsertNamespace(*o)
	case *model.SpreadGroup:
		s.UpsertSpreadGroup(*o)
	case *model.Budget:
		s.UpsertBudget(o)
	case *model.PriorityClass:
		cs.priorities[o.Name] = o.Value
		s.UpsertPriorityClass(o)
	case *model.Hold:
		s.UpsertHold(o)
	case *model.ResourceClaim:
		s.UpsertResourceClaim(o)
	case *model.PersistentVolumeClaim:
		cs.claimStorageClasses[o.Namespace+"/"+o.Name] = o.ClassName()
		s.UpsertPVC(o)
	default:
		cs.upsertVolume(o)
	}
}

func (cs *clusterState) upsertPod(p *model.Pod) {
	if !cs.knownSchedulers[p.Spec.SchedulerName] {
		p = p.WithoutNomination()
	}
	cs.pods[p.UID] = p
	cs.view.Upsert(p)
	cs.view.State.UpsertPod(p)
}

func (cs *clusterState) upsertVolume(o any) {
	s := cs.view.State
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
func (cs *clusterState) remove(o any) {
	s := cs.view.State
	switch o := o.(type) {
	case *model.Pod:
		cs.removePod(o.UID)
	case *model.Node:
		if id, ok := s.NodeID(o.Name); ok { // by UID: a new node of the same name may already exist
			cs.mu.Lock()
			delete(cs.notReady, s.Node(id).Model.UID)
			cs.mu.Unlock()
		}
		s.RemoveNode(o.Name)
	case *model.Namespace:
		delete(cs.namespaces, o.Name)
		s.RemoveNamespace(o.Name)
	case *model.SpreadGroup:
		s.RemoveSpreadGroup(o.Kind, o.Namespace, o.Name)
	case *model.Budget:
		s.RemoveBudget(o.Namespace, o.Name)
	case *model.PriorityClass:
		delete(cs.priorities, o.Name)
		s.RemovePriorityClass(o.Name)
	case *model.Hold:
		s.RemoveHold(o.Namespace, o.Name)
	case *model.ResourceClaim:
		s.RemoveResourceClaim(o.Namespace, o.Name)
	case *model.PersistentVolumeClaim:
		delete(cs.claimStorageClasses, o.Namespace+"/"+o.Name)
		s.RemovePVC(o.Namespace, o.Name)
	default:
		cs.removeVolume(o)
	}
}

func (cs *clusterState) removePod(uid string) {
	cs.mu.Lock()
	delete(cs.podDetails, uid)
	cs.mu.Unlock()
	delete(cs.pods, uid)
	cs.view.Remove(uid)
	cs.view.State.RemovePod(uid)
}

func (cs *clusterState) removeVolume(o any) {
	s := cs.view.State
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
