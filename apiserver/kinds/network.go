package kinds

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/network"
)

// serviceKinds returns Service, Endpoints and EndpointSlice.
func serviceKinds() []Kind {
	return []Kind{
		{
			GroupVersion: v1, Kind: "Service", Resource: "services", ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.Service{} },
			NewList: func() runtime.Object { return &corev1.ServiceList{} },
			Hooks: typedHooks[*corev1.Service]{
				Default:       network.DefaultService,
				PrepareCreate: network.PrepareServiceForCreate, PrepareUpdate: network.PrepareServiceForUpdate,
				Validate: network.ValidateService, ValidateUpdate: network.ValidateServiceUpdate, ValidateStatus: network.ValidateServiceStatusUpdate,
				Warnings: network.ServiceWarnings,
			}.hooks(),
			HasStatus: true, ReturnDeleted: true,
			AllowCreateOnUpdate: true,
			Fields:              serviceFields,
		},
		{
			GroupVersion: v1, Kind: "Endpoints", Resource: "endpoints", Singular: "endpoints", ShortNames: []string{"ep"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.Endpoints{} }, //nolint:staticcheck // the deprecated API is still served
			NewList: func() runtime.Object { return &corev1.EndpointsList{} },
			Hooks: typedHooks[*corev1.Endpoints]{ //nolint:staticcheck // the deprecated API is still served
				Default:  network.DefaultEndpoints,
				Validate: network.ValidateEndpoints, ValidateUpdate: network.ValidateEndpointsUpdate,
			}.hooks(),
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: discoveryv1.SchemeGroupVersion, Kind: "EndpointSlice", Resource: "endpointslices", Namespaced: true,
			New:     func() runtime.Object { return &discoveryv1.EndpointSlice{} },
			NewList: func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
			Hooks: typedHooks[*discoveryv1.EndpointSlice]{
				Default:       network.DefaultEndpointSlice,
				PrepareCreate: network.PrepareEndpointSliceForCreate, PrepareUpdate: network.PrepareEndpointSliceForUpdate,
				Validate: network.ValidateEndpointSlice, ValidateUpdate: network.ValidateEndpointSliceUpdate,
			}.hooks(),
			Generation: CountedGeneration,
		},
	}
}
