package kinds

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/networking"
)

// networkingKinds returns the kinds of networking.k8s.io. The API server allocates cluster IPs from
// ServiceCIDRs and creates their IPAddresses. No Berth controller acts on the other kinds.
func networkingKinds() []Kind {
	gv := networkingv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Ingress", Resource: "ingresses", ShortNames: []string{"ing"}, Namespaced: true,
			New:     func() runtime.Object { return &networkingv1.Ingress{} },
			NewList: func() runtime.Object { return &networkingv1.IngressList{} },
			Hooks: typedHooks[*networkingv1.Ingress]{
				Validate: networking.ValidateIngress, ValidateUpdate: networking.ValidateIngressUpdate, ValidateStatus: networking.ValidateIngressStatusUpdate,
			}.hooks(),
			HasStatus: true, StoredOnly: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "IngressClass", Resource: "ingressclasses",
			New:     func() runtime.Object { return &networkingv1.IngressClass{} },
			NewList: func() runtime.Object { return &networkingv1.IngressClassList{} },
			Hooks: typedHooks[*networkingv1.IngressClass]{
				Default:  networking.DefaultIngressClass,
				Validate: networking.ValidateIngressClass, ValidateUpdate: networking.ValidateIngressClassUpdate,
			}.hooks(),
			StoredOnly: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "NetworkPolicy", Resource: "networkpolicies", ShortNames: []string{"netpol"}, Namespaced: true,
			New:     func() runtime.Object { return &networkingv1.NetworkPolicy{} },
			NewList: func() runtime.Object { return &networkingv1.NetworkPolicyList{} },
			Hooks: typedHooks[*networkingv1.NetworkPolicy]{
				Default:  networking.DefaultNetworkPolicy,
				Validate: networking.ValidateNetworkPolicy, ValidateUpdate: networking.ValidateNetworkPolicyUpdate,
			}.hooks(),
			StoredOnly: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "ServiceCIDR", Resource: "servicecidrs",
			New:     func() runtime.Object { return &networkingv1.ServiceCIDR{} },
			NewList: func() runtime.Object { return &networkingv1.ServiceCIDRList{} },
			Hooks: typedHooks[*networkingv1.ServiceCIDR]{
				Validate: networking.ValidateServiceCIDR, ValidateUpdate: networking.ValidateServiceCIDRUpdate, ValidateStatus: networking.ValidateServiceCIDRStatusUpdate,
			}.hooks(),
			HasStatus: true,
		},
		{
			GroupVersion: gv, Kind: "IPAddress", Resource: "ipaddresses", ShortNames: []string{"ip"},
			New:     func() runtime.Object { return &networkingv1.IPAddress{} },
			NewList: func() runtime.Object { return &networkingv1.IPAddressList{} },
			Hooks: typedHooks[*networkingv1.IPAddress]{
				Validate: networking.ValidateIPAddress, ValidateUpdate: networking.ValidateIPAddressUpdate,
			}.hooks(),
			Fields: func(obj runtime.Object) fields.Set {
				set := fields.Set{"spec.parentRef.group": "", "spec.parentRef.resource": "", "spec.parentRef.namespace": "", "spec.parentRef.name": ""}
				if ref := obj.(*networkingv1.IPAddress).Spec.ParentRef; ref != nil {
					set["spec.parentRef.group"], set["spec.parentRef.resource"] = ref.Group, ref.Resource
					set["spec.parentRef.namespace"], set["spec.parentRef.name"] = ref.Namespace, ref.Name
				}
				return set
			},
		},
	}
}
