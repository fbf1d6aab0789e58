package kinds

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/storage"
)

// volumeKinds returns the storage kinds of the core group.
func volumeKinds() []Kind {
	return []Kind{
		{
			GroupVersion: v1, Kind: "PersistentVolume", Resource: "persistentvolumes", ShortNames: []string{"pv"},
			New:     func() runtime.Object { return &corev1.PersistentVolume{} },
			NewList: func() runtime.Object { return &corev1.PersistentVolumeList{} },
			Hooks: typedHooks[*corev1.PersistentVolume]{
				Default:       storage.DefaultPersistentVolume,
				PrepareCreate: storage.PreparePersistentVolumeForCreate, PrepareStatus: storage.PreparePersistentVolumeStatusUpdate,
				Validate: storage.ValidatePersistentVolume, ValidateUpdate: storage.ValidatePersistentVolumeUpdate, ValidateStatus: storage.ValidatePersistentVolumeStatusUpdate,
				Warnings: storage.PersistentVolumeWarnings,
			}.hooks(),
			HasStatus: true, ReturnDeleted: true,
		},
		{
			GroupVersion: v1, Kind: "PersistentVolumeClaim", Resource: "persistentvolumeclaims", ShortNames: []string{"pvc"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
			NewList: func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
			Hooks: typedHooks[*corev1.PersistentVolumeClaim]{
				Default:       storage.DefaultPersistentVolumeClaim,
				PrepareCreate: storage.PreparePersistentVolumeClaimForCreate, PrepareUpdate: storage.PreparePersistentVolumeClaimForUpdate,
				Validate: storage.ValidatePersistentVolumeClaim, ValidateUpdate: storage.ValidatePersistentVolumeClaimUpdate, ValidateStatus: storage.ValidatePersistentVolumeClaimStatusUpdate,
				Warnings: storage.PersistentVolumeClaimWarnings,
			}.hooks(),
			HasStatus: true, ReturnDeleted: true,
		},
	}
}

// storageKinds returns the kinds of storage.k8s.io.
func storageKinds() []Kind {
	gv := storagev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "StorageClass", Resource: "storageclasses", ShortNames: []string{"sc"},
			New:     func() runtime.Object { return &storagev1.StorageClass{} },
			NewList: func() runtime.Object { return &storagev1.StorageClassList{} },
			Hooks: typedHooks[*storagev1.StorageClass]{
				Default:  storage.DefaultStorageClass,
				Validate: storage.ValidateStorageClass, ValidateUpdate: storage.ValidateStorageClassUpdate,
				Warnings: storage.StorageClassWarnings,
			}.hooks(),
			ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Kind: "CSINode", Resource: "csinodes",
			New:     func() runtime.Object { return &storagev1.CSINode{} },
			NewList: func() runtime.Object { return &storagev1.CSINodeList{} },
			Hooks: typedHooks[*storagev1.CSINode]{
				Validate: storage.ValidateCSINode, ValidateUpdate: storage.ValidateCSINodeUpdate,
			}.hooks(),
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "CSIDriver", Resource: "csidrivers",
			New:     func() runtime.Object { return &storagev1.CSIDriver{} },
			NewList: func() runtime.Object { return &storagev1.CSIDriverList{} },
			Hooks: typedHooks[*storagev1.CSIDriver]{
				Default:  storage.DefaultCSIDriver,
				Validate: storage.ValidateCSIDriver, ValidateUpdate: storage.ValidateCSIDriverUpdate,
			}.hooks(),
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "CSIStorageCapacity", Resource: "csistoragecapacities", Namespaced: true,
			New:     func() runtime.Object { return &storagev1.CSIStorageCapacity{} },
			NewList: func() runtime.Object { return &storagev1.CSIStorageCapacityList{} },
			Hooks: typedHooks[*storagev1.CSIStorageCapacity]{
				Validate: storage.ValidateCSIStorageCapacity, ValidateUpdate: storage.ValidateCSIStorageCapacityUpdate,
			}.hooks(),
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "VolumeAttachment", Resource: "volumeattachments",
			New:     func() runtime.Object { return &storagev1.VolumeAttachment{} },
			NewList: func() runtime.Object { return &storagev1.VolumeAttachmentList{} },
			Hooks: typedHooks[*storagev1.VolumeAttachment]{
				Validate: storage.ValidateVolumeAttachment, ValidateUpdate: storage.ValidateVolumeAttachmentUpdate, ValidateStatus: storage.ValidateVolumeAttachmentStatusUpdate,
			}.hooks(),
			HasStatus: true, StoredOnly: true, ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
	}
}

// volumeAttributesKinds returns VolumeAttributesClass. Berth calls no CSI driver with its parameters.
func volumeAttributesKinds() []Kind {
	return []Kind{{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "VolumeAttributesClass", Resource: "volumeattributesclasses", ShortNames: []string{"vac"},
		New:     func() runtime.Object { return &storagev1.VolumeAttributesClass{} },
		NewList: func() runtime.Object { return &storagev1.VolumeAttributesClassList{} },
		Hooks: typedHooks[*storagev1.VolumeAttributesClass]{
			Validate: storage.ValidateVolumeAttributesClass, ValidateUpdate: storage.ValidateVolumeAttributesClassUpdate,
		}.hooks(),
		StoredOnly: true, ReturnDeleted: true,
	}}
}
