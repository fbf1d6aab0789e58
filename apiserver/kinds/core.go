package kinds

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/apiserver/validation/core"
)

var v1 = corev1.SchemeGroupVersion

// coreKinds returns the kinds of the core group, except storage, services, events and
// ReplicationController.
func coreKinds() []Kind {
	return []Kind{
		podKind(),
		podTemplateKind(),
		nodeKind(),
		namespaceKind(),
		componentStatusKind(),
		{
			GroupVersion: v1, Kind: "ConfigMap", Resource: "configmaps", ShortNames: []string{"cm"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.ConfigMap{} },
			NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
			Hooks: typedHooks[*corev1.ConfigMap]{
				Validate: core.ValidateConfigMap, ValidateUpdate: core.ValidateConfigMapUpdate,
			}.hooks(),
		},
		{
			GroupVersion: v1, Kind: "Secret", Resource: "secrets", Namespaced: true,
			New:     func() runtime.Object { return &corev1.Secret{} },
			NewList: func() runtime.Object { return &corev1.SecretList{} },
			Hooks: typedHooks[*corev1.Secret]{
				Default:       core.DefaultSecret,
				PrepareUpdate: core.PrepareSecretForUpdate,
				Validate:      core.ValidateSecret, ValidateUpdate: core.ValidateSecretUpdate,
			}.hooks(),
			Fields: secretFields,
		},
		{
			GroupVersion: v1, Kind: "ServiceAccount", Resource: "serviceaccounts", ShortNames: []string{"sa"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.ServiceAccount{} },
			NewList: func() runtime.Object { return &corev1.ServiceAccountList{} },
			Hooks: typedHooks[*corev1.ServiceAccount]{
				PrepareCreate: core.PrepareServiceAccountForCreate, PrepareUpdate: core.PrepareServiceAccountForUpdate,
				Validate: core.ValidateServiceAccount, ValidateUpdate: core.ValidateServiceAccountUpdate,
			}.hooks(),
			ReturnDeleted: true, RequireVersionOnUpdate: true,
		},
		{
			GroupVersion: v1, Kind: "LimitRange", Resource: "limitranges", ShortNames: []string{"limits"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.LimitRange{} },
			NewList: func() runtime.Object { return &corev1.LimitRangeList{} },
			Hooks: typedHooks[*corev1.LimitRange]{
				Default:  core.DefaultLimitRange,
				Validate: core.ValidateLimitRange, ValidateUpdate: core.ValidateLimitRangeUpdate,
			}.hooks(),
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: v1, Kind: "ResourceQuota", Resource: "resourcequotas", ShortNames: []string{"quota"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.ResourceQuota{} },
			NewList: func() runtime.Object { return &corev1.ResourceQuotaList{} },
			Hooks: typedHooks[*corev1.ResourceQuota]{
				Default:  core.DefaultResourceQuota,
				Validate: core.ValidateResourceQuota, ValidateUpdate: core.ValidateResourceQuotaUpdate, ValidateStatus: core.ValidateResourceQuotaStatusUpdate,
			}.hooks(),
			HasStatus: true, ReturnDeleted: true,
		},
	}
}

// componentStatusKind returns ComponentStatus, which is computed from health checks.
func componentStatusKind() Kind {
	return Kind{
		GroupVersion: v1, Kind: "ComponentStatus", Resource: "componentstatuses", ShortNames: []string{"cs"}, Virtual: true,
		New:     func() runtime.Object { return &corev1.ComponentStatus{} },
		NewList: func() runtime.Object { return &corev1.ComponentStatusList{} },
	}
}

func nodeKind() Kind {
	return Kind{
		GroupVersion: v1, Kind: "Node", Resource: "nodes", ShortNames: []string{"no"},
		New:     func() runtime.Object { return &corev1.Node{} },
		NewList: func() runtime.Object { return &corev1.NodeList{} },
		Hooks: typedHooks[*corev1.Node]{
			Default:       core.DefaultNode,
			PrepareCreate: core.PrepareNodeForCreate, PrepareUpdate: core.PrepareNodeForUpdate, PrepareStatus: core.PrepareNodeStatusUpdate,
			Validate: core.ValidateNode, ValidateUpdate: core.ValidateNodeUpdate, ValidateStatus: core.ValidateNodeStatusUpdate,
			Warnings: core.NodeWarnings,
		}.hooks(),
		HasStatus: true, KeepStatusOnCreate: true,
		Fields: nodeFields,
	}
}

func namespaceKind() Kind {
	return Kind{
		GroupVersion: v1, Kind: "Namespace", Resource: "namespaces", ShortNames: []string{"ns"},
		New:     func() runtime.Object { return &corev1.Namespace{} },
		NewList: func() runtime.Object { return &corev1.NamespaceList{} },
		Hooks: typedHooks[*corev1.Namespace]{
			Default:       core.DefaultNamespace,
			PrepareCreate: core.PrepareNamespaceForCreate, PrepareUpdate: core.PrepareNamespaceForUpdate,
			Validate: core.ValidateNamespace, ValidateUpdate: core.ValidateNamespaceUpdate, ValidateStatus: core.ValidateNamespaceStatusUpdate,
		}.hooks(),
		HasStatus: true,
		Fields:    namespaceFields,
		Setup:     subresource.KeepNamespaceUntilFinalized,
		Delete:    subresource.DeleteNamespace, NoDeleteCollection: true,
		UpdateSubresources: map[string]UpdateSubresource{"finalize": {
			Prepare:     prepareUpdate(core.PrepareNamespaceFinalize),
			Validate:    validateUpdate(core.ValidateNamespaceFinalizeUpdate),
			ResetFields: []string{"status"},
		}},
	}
}

func podTemplateKind() Kind {
	return Kind{
		GroupVersion: v1, Kind: "PodTemplate", Resource: "podtemplates", Namespaced: true,
		New:     func() runtime.Object { return &corev1.PodTemplate{} },
		NewList: func() runtime.Object { return &corev1.PodTemplateList{} },
		Hooks: typedHooks[*corev1.PodTemplate]{
			Default:       core.DefaultPodTemplate,
			PrepareCreate: core.PreparePodTemplateForCreate, PrepareUpdate: core.PreparePodTemplateForUpdate,
			Validate: core.ValidatePodTemplate, ValidateUpdate: core.ValidatePodTemplateUpdate,
			Warnings: core.PodTemplateWarnings,
		}.hooks(),
		StoredOnly: true, ReturnDeleted: true,
	}
}
