package kinds

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation"
)

func policyKinds() []Kind {
	return []Kind{{
		GroupVersion: policyv1.SchemeGroupVersion, Kind: "PodDisruptionBudget", Resource: "poddisruptionbudgets", ShortNames: []string{"pdb"}, Namespaced: true,
		New:     func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
		NewList: func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} },
		Hooks: typed[*policyv1.PodDisruptionBudget]{
			Validate: validation.ValidatePodDisruptionBudget, ValidateUpdate: validation.ValidatePodDisruptionBudgetUpdate, ValidateStatus: validation.ValidatePodDisruptionBudgetStatusUpdate,
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
		Hooks: typed[*coordinationv1.Lease]{
			PrepareCreate: validation.PrepareLeaseForCreate, PrepareUpdate: validation.PrepareLeaseForUpdate,
			Validate: validation.ValidateLease, ValidateUpdate: validation.ValidateLeaseUpdate,
		}.hooks(),
		AllowCreateOnUpdate: true, RequireVersionOnUpdate: true,
	}}
}

func schedulingKinds() []Kind {
	return []Kind{
		{
			GroupVersion: schedulingv1.SchemeGroupVersion, Kind: "PriorityClass", Resource: "priorityclasses", ShortNames: []string{"pc"},
			New:     func() runtime.Object { return &schedulingv1.PriorityClass{} },
			NewList: func() runtime.Object { return &schedulingv1.PriorityClassList{} },
			Hooks: typed[*schedulingv1.PriorityClass]{
				Default:  validation.DefaultPriorityClass,
				Validate: validation.ValidatePriorityClass, ValidateUpdate: validation.ValidatePriorityClassUpdate,
			}.hooks(),
			Generation: FixedGeneration,
		},
		{
			GroupVersion: nodev1.SchemeGroupVersion, Kind: "RuntimeClass", Resource: "runtimeclasses",
			New:     func() runtime.Object { return &nodev1.RuntimeClass{} },
			NewList: func() runtime.Object { return &nodev1.RuntimeClassList{} },
			Hooks: typed[*nodev1.RuntimeClass]{
				Validate: validation.ValidateRuntimeClass, ValidateUpdate: validation.ValidateRuntimeClassUpdate,
			}.hooks(),
			RequireVersionOnUpdate: true,
		},
	}
}
