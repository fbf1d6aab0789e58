package kinds

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/apiserver/validation"
)

var v1 = corev1.SchemeGroupVersion

// core returns the kinds of the core group, except storage, services, events and
// ReplicationController.
func core() []Kind {
	return []Kind{
		pods(),
		podTemplates(),
		nodes(),
		namespaces(),
		{
			GroupVersion: v1, Kind: "ConfigMap", Resource: "configmaps", ShortNames: []string{"cm"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.ConfigMap{} },
			NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
		},
		{
			GroupVersion: v1, Kind: "Secret", Resource: "secrets", Namespaced: true,
			New:     func() runtime.Object { return &corev1.Secret{} },
			NewList: func() runtime.Object { return &corev1.SecretList{} },
			Fields:  secretFields,
		},
		{
			GroupVersion: v1, Kind: "ServiceAccount", Resource: "serviceaccounts", ShortNames: []string{"sa"}, Namespaced: true,
			New:           func() runtime.Object { return &corev1.ServiceAccount{} },
			NewList:       func() runtime.Object { return &corev1.ServiceAccountList{} },
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: v1, Kind: "LimitRange", Resource: "limitranges", ShortNames: []string{"limits"}, Namespaced: true,
			New:                 func() runtime.Object { return &corev1.LimitRange{} },
			NewList:             func() runtime.Object { return &corev1.LimitRangeList{} },
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: v1, Kind: "ResourceQuota", Resource: "resourcequotas", ShortNames: []string{"quota"}, Namespaced: true,
			New:       func() runtime.Object { return &corev1.ResourceQuota{} },
			NewList:   func() runtime.Object { return &corev1.ResourceQuotaList{} },
			HasStatus: true, ReturnDeleted: true, StoredOnly: true,
		},
	}
}

func nodes() Kind {
	return Kind{
		GroupVersion: v1, Kind: "Node", Resource: "nodes", ShortNames: []string{"no"},
		New:       func() runtime.Object { return &corev1.Node{} },
		NewList:   func() runtime.Object { return &corev1.NodeList{} },
		HasStatus: true, KeepStatusOnCreate: true,
		Fields: nodeFields,
	}
}

func namespaces() Kind {
	return Kind{
		GroupVersion: v1, Kind: "Namespace", Resource: "namespaces", ShortNames: []string{"ns"},
		New:       func() runtime.Object { return &corev1.Namespace{} },
		NewList:   func() runtime.Object { return &corev1.NamespaceList{} },
		HasStatus: true,
		Fields:    namespaceFields,
		Setup:     subresource.KeepNamespaceUntilFinalized,
		Delete:    subresource.DeleteNamespace, NoDeleteCollection: true,
		UpdateSubresources: map[string]UpdateSubresource{"finalize": {
			Prepare:     prepareUpdate(validation.PrepareNamespaceFinalize),
			Validate:    checkUpdate(validation.ValidateNamespaceFinalizeUpdate),
			ResetFields: []string{"status"},
		}},
	}
}

func podTemplates() Kind {
	return Kind{
		GroupVersion: v1, Kind: "PodTemplate", Resource: "podtemplates", Namespaced: true,
		New:        func() runtime.Object { return &corev1.PodTemplate{} },
		NewList:    func() runtime.Object { return &corev1.PodTemplateList{} },
		StoredOnly: true, ReturnDeleted: true,
	}
}
