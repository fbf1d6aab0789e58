package sim

import (
	"strings"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/sim/store"
)

// Identity is the model of an object that is gone, as far as a Remove is read.
func Identity(k store.Kind, key, uid string) any {
	namespace, name, both := strings.Cut(key, "/")
	if !both {
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
		return &model.Group{Kind: "Service", Namespace: namespace, Name: name}
	case store.Controllers:
		return &model.Group{Kind: "ReplicationController", Namespace: namespace, Name: name}
	case store.ReplicaSets:
		return &model.Group{Kind: "ReplicaSet", Namespace: namespace, Name: name}
	case store.StatefulSets:
		return &model.Group{Kind: "StatefulSet", Namespace: namespace, Name: name}
	case store.Budgets:
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
	case store.Volumes:
		return &model.PersistentVolume{Name: name}
	case store.Claims:
		return &model.PersistentVolumeClaim{Namespace: namespace, Name: name, UID: uid}
	case store.StorageClasses:
		return &model.StorageClass{Name: name}
	case store.CSINodes:
		return &model.CSINode{Name: name}
	case store.CSIDrivers:
		return &model.CSIDriver{Name: name}
	case store.CSICapacities:
		return &model.CSIStorageCapacity{Namespace: namespace, Name: name}
	case store.Attachments:
		return &model.VolumeAttachment{Name: name}
	case store.DeviceClaims:
		return &model.ResourceClaim{Namespace: namespace, Name: name, UID: uid}
	}
	return nil
}
