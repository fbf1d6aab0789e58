package kinds

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation"
)

// serviceKinds returns Service, Endpoints and EndpointSlice.
func serviceKinds() []Kind {
	return []Kind{
		{
			GroupVersion: v1, Kind: "Service", Resource: "services", ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.Service{} },
			NewList: func() runtime.Object { return &corev1.ServiceList{} },
			Hooks: typed[*corev1.Service]{
				Default:       validation.DefaultService,
				PrepareCreate: validation.PrepareServiceForCreate, PrepareUpdate: validation.PrepareServiceForUpdate,
				Validate: validation.ValidateService, ValidateUpdate: validation.ValidateServiceUpdate, ValidateStatus: validation.ValidateServiceStatusUpdate,
				Warnings: validation.ServiceWarnings,
			}.hooks(),
			HasStatus: true, ReturnDeleted: true,
			AllowCreateOnUpdate: true,
			Fields:              serviceFields,
		},
		{
			GroupVersion: v1, Kind: "Endpoints", Resource: "endpoints", Singular: "endpoints", ShortNames: []string{"ep"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.Endpoints{} },
			NewList: func() runtime.Object { return &corev1.EndpointsList{} },
			Hooks: typed[*corev1.Endpoints]{
				Default:  validation.DefaultEndpoints,
				Validate: validation.ValidateEndpoints, ValidateUpdate: validation.ValidateEndpointsUpdate,
			}.hooks(),
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: discoveryv1.SchemeGroupVersion, Kind: "EndpointSlice", Resource: "endpointslices", Namespaced: true,
			New:     func() runtime.Object { return &discoveryv1.EndpointSlice{} },
			NewList: func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
			Hooks: typed[*discoveryv1.EndpointSlice]{
				Default:       validation.DefaultEndpointSlice,
				PrepareCreate: validation.PrepareEndpointSliceForCreate, PrepareUpdate: validation.PrepareEndpointSliceForUpdate,
				Validate: validation.ValidateEndpointSlice, ValidateUpdate: validation.ValidateEndpointSliceUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
	}
}
