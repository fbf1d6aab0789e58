package kinds

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/resource"
)

// resourceKinds returns the kinds of dynamic resource allocation. They are only stored, so that upstream clients
// that watch them start.
func resourceKinds() []Kind {
	gv := resourcev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "ResourceClaim", Resource: "resourceclaims", Namespaced: true,
			New:     func() runtime.Object { return &resourcev1.ResourceClaim{} },
			NewList: func() runtime.Object { return &resourcev1.ResourceClaimList{} },
			Hooks: typedHooks[*resourcev1.ResourceClaim]{
				Default:  resource.DefaultResourceClaim,
				Validate: resource.ValidateResourceClaim, ValidateUpdate: resource.ValidateResourceClaimUpdate, ValidateStatus: resource.ValidateResourceClaimStatusUpdate,
			}.hooks(),
			HasStatus: true, StoredOnly: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Kind: "ResourceClaimTemplate", Resource: "resourceclaimtemplates", Namespaced: true,
			New:     func() runtime.Object { return &resourcev1.ResourceClaimTemplate{} },
			NewList: func() runtime.Object { return &resourcev1.ResourceClaimTemplateList{} },
			Hooks: typedHooks[*resourcev1.ResourceClaimTemplate]{
				Default:  resource.DefaultResourceClaimTemplate,
				Validate: resource.ValidateResourceClaimTemplate, ValidateUpdate: resource.ValidateResourceClaimTemplateUpdate,
			}.hooks(),
			StoredOnly: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Kind: "ResourceSlice", Resource: "resourceslices",
			New:     func() runtime.Object { return &resourcev1.ResourceSlice{} },
			NewList: func() runtime.Object { return &resourcev1.ResourceSliceList{} },
			Hooks: typedHooks[*resourcev1.ResourceSlice]{
				Validate: resource.ValidateResourceSlice, ValidateUpdate: resource.ValidateResourceSliceUpdate,
			}.hooks(),
			StoredOnly: true, Generation: CountedGeneration, ReturnDeleted: true,
			Fields: sliceFields, Trigger: "spec.nodeName",
		},
		{
			GroupVersion: gv, Kind: "DeviceClass", Resource: "deviceclasses",
			New:     func() runtime.Object { return &resourcev1.DeviceClass{} },
			NewList: func() runtime.Object { return &resourcev1.DeviceClassList{} },
			Hooks: typedHooks[*resourcev1.DeviceClass]{
				Validate: resource.ValidateDeviceClass, ValidateUpdate: resource.ValidateDeviceClassUpdate,
			}.hooks(),
			StoredOnly: true, Generation: CountedGeneration, ReturnDeleted: true,
		},
	}
}
