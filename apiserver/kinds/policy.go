package kinds

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/policy"
)

func policyKinds() []Kind {
	return []Kind{{
		GroupVersion: policyv1.SchemeGroupVersion, Kind: "PodDisruptionBudget", Resource: "poddisruptionbudgets", ShortNames: []string{"pdb"}, Namespaced: true,
		New:     func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
		NewList: func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} },
		Hooks: typedHooks[*policyv1.PodDisruptionBudget]{
			Validate: policy.ValidatePodDisruptionBudget, ValidateUpdate: policy.ValidatePodDisruptionBudgetUpdate, ValidateStatus: policy.ValidatePodDisruptionBudgetStatusUpdate,
		}.hooks(),
		HasStatus: true, Generation: CountedGeneration,
		RequireVersionOnUpdate: true,
	}}
}

func coordinationKinds() []Kind {
	return []Kind{{
		GroupVersion: coordinationv1.SchemeGroupVersion, Kind: "Lease", Resource: "leases", Namespaced: true,
		New:     func() runtime.Object { return &coordinationv1.Lease{} },
		NewList: func() runtime.Object { return &coordinationv1.LeaseList{} },
		Hooks: typedHooks[*coordinationv1.Lease]{
			PrepareCreate: policy.PrepareLeaseForCreate, PrepareUpdate: policy.PrepareLeaseForUpdate,
			Validate: policy.ValidateLease, ValidateUpdate: policy.ValidateLeaseUpdate,
		}.hooks(),
		AllowCreateOnUpdate: true, RequireVersionOnUpdate: true,
	}}
}

// schedulingKinds returns PriorityClass and RuntimeClass.
func schedulingKinds() []Kind {
	return []Kind{
		{
			GroupVersion: schedulingv1.SchemeGroupVersion, Kind: "PriorityClass", Resource: "priorityclasses", ShortNames: []string{"pc"},
			New:     func() runtime.Object { return &schedulingv1.PriorityClass{} },
			NewList: func() runtime.Object { return &schedulingv1.PriorityClassList{} },
			Hooks: typedHooks[*schedulingv1.PriorityClass]{
				Default:  policy.DefaultPriorityClass,
				Validate: policy.ValidatePriorityClass, ValidateUpdate: policy.ValidatePriorityClassUpdate,
			}.hooks(),
			Generation: FixedGeneration,
		},
		{
			GroupVersion: nodev1.SchemeGroupVersion, Kind: "RuntimeClass", Resource: "runtimeclasses",
			New:     func() runtime.Object { return &nodev1.RuntimeClass{} },
			NewList: func() runtime.Object { return &nodev1.RuntimeClassList{} },
			Hooks: typedHooks[*nodev1.RuntimeClass]{
				Validate: policy.ValidateRuntimeClass, ValidateUpdate: policy.ValidateRuntimeClassUpdate,
			}.hooks(),
			RequireVersionOnUpdate: true,
		},
	}
}
