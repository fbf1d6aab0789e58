package kinds

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// coreStorage returns the storage kinds of the core group.
func coreStorage() []Kind {
	return []Kind{
		{
			GroupVersion: v1, Kind: "PersistentVolume", Resource: "persistentvolumes", ShortNames: []string{"pv"},
			New:       func() runtime.Object { return &corev1.PersistentVolume{} },
			NewList:   func() runtime.Object { return &corev1.PersistentVolumeList{} },
			HasStatus: true, ReturnDeleted: true,
		},
		{
			GroupVersion: v1, Kind: "PersistentVolumeClaim", Resource: "persistentvolumeclaims", ShortNames: []string{"pvc"}, Namespaced: true,
			New:       func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
			NewList:   func() runtime.Object { return &corev1.PersistentVolumeClaimList{} },
			HasStatus: true, ReturnDeleted: true,
		},
	}
}

// storage returns the kinds of storage.k8s.io.
func storage() []Kind {
	gv := storagev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "StorageClass", Resource: "storageclasses", ShortNames: []string{"sc"},
			New:           func() runtime.Object { return &storagev1.StorageClass{} },
			NewList:       func() runtime.Object { return &storagev1.StorageClassList{} },
			ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Kind: "CSINode", Resource: "csinodes",
			New:           func() runtime.Object { return &storagev1.CSINode{} },
			NewList:       func() runtime.Object { return &storagev1.CSINodeList{} },
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "CSIDriver", Resource: "csidrivers",
			New:           func() runtime.Object { return &storagev1.CSIDriver{} },
			NewList:       func() runtime.Object { return &storagev1.CSIDriverList{} },
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "CSIStorageCapacity", Resource: "csistoragecapacities", Namespaced: true,
			New:           func() runtime.Object { return &storagev1.CSIStorageCapacity{} },
			NewList:       func() runtime.Object { return &storagev1.CSIStorageCapacityList{} },
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "VolumeAttachment", Resource: "volumeattachments",
			New:       func() runtime.Object { return &storagev1.VolumeAttachment{} },
			NewList:   func() runtime.Object { return &storagev1.VolumeAttachmentList{} },
			HasStatus: true, ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
	}
}
