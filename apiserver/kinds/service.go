package kinds

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// services returns Service, Endpoints and EndpointSlice.
func services() []Kind {
	return []Kind{
		{
			GroupVersion: v1, Kind: "Service", Resource: "services", ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &corev1.Service{} },
			NewList:   func() runtime.Object { return &corev1.ServiceList{} },
			HasStatus: true, ReturnDeleted: true,
			AllowCreateOnUpdate: true,
			Fields:              serviceFields,
		},
		{
			GroupVersion: v1, Kind: "Endpoints", Resource: "endpoints", Singular: "endpoints", ShortNames: []string{"ep"}, Namespaced: true,
			New:                 func() runtime.Object { return &corev1.Endpoints{} },
			NewList:             func() runtime.Object { return &corev1.EndpointsList{} },
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: discoveryv1.SchemeGroupVersion, Kind: "EndpointSlice", Resource: "endpointslices", Namespaced: true,
			New:        func() runtime.Object { return &discoveryv1.EndpointSlice{} },
			NewList:    func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
			Generation: CountedGeneration,
		},
	}
}
