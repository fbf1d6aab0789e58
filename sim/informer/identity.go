package informer

import (
	"strings"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// Identity returns the identity of a deleted object as a model.
func Identity(k store.Kind, key, uid string) any {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		namespace, name = "", key
	}
	switch k {
	case store.Pods:
		return &model.Pod{Namespace: namespace, Name: name, UID: uid}
	case store.Nodes:
		return &model.Node{Name: name}
	case store.Namespaces:
		return &model.Namespace{Name: name}
	case store.Services:
		return &model.SpreadGroup{Kind: "Service", Namespace: namespace, Name: name}
	case store.ReplicationControllers:
		return &model.SpreadGroup{Kind: "ReplicationController", Namespace: namespace, Name: name}
	case store.ReplicaSets:
		return &model.SpreadGroup{Kind: "ReplicaSet", Namespace: namespace, Name: name}
	case store.StatefulSets:
		return &model.SpreadGroup{Kind: "StatefulSet", Namespace: namespace, Name: name}
	case store.PodDisruptionBudgets:
		return &model.Budget{Namespace: namespace, Name: name}
	case store.PriorityClasses:
		return &model.PriorityClass{Name: name}
	case store.Holds:
		return &model.Hold{Namespace: namespace, Name: name}
	}
	return volumeIdentity(k, namespace, name, uid)
}

func volumeIdentity(k store.Kind, namespace, name, uid string) any {
	switch k {
	case store.PersistentVolumes:
		return &model.PersistentVolume{Name: name}
	case store.PersistentVolumeClaims:
		return &model.PersistentVolumeClaim{Namespace: namespace, Name: name, UID: uid}
	case store.StorageClasses:
		return &model.StorageClass{Name: name}
	case store.CSINodes:
		return &model.CSINode{Name: name}
	case store.CSIDrivers:
		return &model.CSIDriver{Name: name}
	case store.CSIStorageCapacities:
		return &model.CSIStorageCapacity{Namespace: namespace, Name: name}
	case store.VolumeAttachments:
		return &model.VolumeAttachment{Name: name}
	case store.ResourceClaims:
		return &model.ResourceClaim{Namespace: namespace, Name: name, UID: uid}
	}
	return nil
}
