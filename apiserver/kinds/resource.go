package kinds

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// resources returns the kinds of dynamic resource allocation, which are stored so that upstream
// clients start.
func resources() []Kind {
	gv := resourcev1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "ResourceClaim", Resource: "resourceclaims", Namespaced: true,
			New:       func() runtime.Object { return &resourcev1.ResourceClaim{} },
			NewList:   func() runtime.Object { return &resourcev1.ResourceClaimList{} },
			HasStatus: true, StoredOnly: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Kind: "ResourceClaimTemplate", Resource: "resourceclaimtemplates", Namespaced: true,
			New:        func() runtime.Object { return &resourcev1.ResourceClaimTemplate{} },
			NewList:    func() runtime.Object { return &resourcev1.ResourceClaimTemplateList{} },
			StoredOnly: true, ReturnDeleted: true,
		},
		{
			GroupVersion: gv, Kind: "ResourceSlice", Resource: "resourceslices",
			New:        func() runtime.Object { return &resourcev1.ResourceSlice{} },
			NewList:    func() runtime.Object { return &resourcev1.ResourceSliceList{} },
			StoredOnly: true, Generation: CountedGeneration, ReturnDeleted: true,
			Fields: sliceFields, Trigger: "spec.nodeName",
		},
		{
			GroupVersion: gv, Kind: "DeviceClass", Resource: "deviceclasses",
			New:        func() runtime.Object { return &resourcev1.DeviceClass{} },
			NewList:    func() runtime.Object { return &resourcev1.DeviceClassList{} },
			StoredOnly: true, Generation: CountedGeneration, ReturnDeleted: true,
		},
	}
}
