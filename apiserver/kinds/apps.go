package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/apiserver/validation"
)

func scale(version schema.GroupVersion) map[string]func(Stores) rest.Storage {
	return map[string]func(Stores) rest.Storage{
		"scale": func(s Stores) rest.Storage { return subresource.NewScaleREST(s.Own, version) },
	}
}

// appsKinds returns the workload kinds of apps/v1, and ReplicationController.
func appsKinds() []Kind {
	gv := appsv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Deployment", Resource: "deployments", ShortNames: []string{"deploy"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.Deployment{} },
			NewList: func() runtime.Object { return &appsv1.DeploymentList{} },
			Hooks: typed[*appsv1.Deployment]{
				Default:       validation.DefaultDeployment,
				PrepareCreate: validation.PrepareDeploymentForCreate, PrepareUpdate: validation.PrepareDeploymentForUpdate, PrepareStatus: validation.PrepareDeploymentStatusUpdate,
				Validate: validation.ValidateDeployment, ValidateUpdate: validation.ValidateDeploymentUpdate, ValidateStatus: validation.ValidateDeploymentStatusUpdate,
				Warnings: validation.DeploymentWarnings,
			}.hooks(),
			HasStatus: true, ResetOnStatusUpdate: []string{"metadata.labels"}, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "ReplicaSet", Resource: "replicasets", ShortNames: []string{"rs"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.ReplicaSet{} },
			NewList: func() runtime.Object { return &appsv1.ReplicaSetList{} },
			Hooks: typed[*appsv1.ReplicaSet]{
				Default:       validation.DefaultReplicaSet,
				PrepareCreate: validation.PrepareReplicaSetForCreate, PrepareUpdate: validation.PrepareReplicaSetForUpdate,
				Validate: validation.ValidateReplicaSet, ValidateUpdate: validation.ValidateReplicaSetUpdate, ValidateStatus: validation.ValidateReplicaSetStatusUpdate,
				Warnings: validation.ReplicaSetWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "StatefulSet", Resource: "statefulsets", ShortNames: []string{"sts"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.StatefulSet{} },
			NewList: func() runtime.Object { return &appsv1.StatefulSetList{} },
			Hooks: typed[*appsv1.StatefulSet]{
				Default:       validation.DefaultStatefulSet,
				PrepareCreate: validation.PrepareStatefulSetForCreate, PrepareUpdate: validation.PrepareStatefulSetForUpdate,
				Validate: validation.ValidateStatefulSet, ValidateUpdate: validation.ValidateStatefulSetUpdate, ValidateStatus: validation.ValidateStatefulSetStatusUpdate,
				Warnings: validation.StatefulSetWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "DaemonSet", Resource: "daemonsets", ShortNames: []string{"ds"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.DaemonSet{} },
			NewList: func() runtime.Object { return &appsv1.DaemonSetList{} },
			Hooks: typed[*appsv1.DaemonSet]{
				Default:       validation.DefaultDaemonSet,
				PrepareCreate: validation.PrepareDaemonSetForCreate, PrepareUpdate: validation.PrepareDaemonSetForUpdate, PrepareStatus: validation.PrepareDaemonSetStatusUpdate,
				Validate: validation.ValidateDaemonSet, ValidateUpdate: validation.ValidateDaemonSetUpdate, ValidateStatus: validation.ValidateDaemonSetStatusUpdate,
				Warnings: validation.DaemonSetWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "ControllerRevision", Resource: "controllerrevisions", Namespaced: true,
			New:     func() runtime.Object { return &appsv1.ControllerRevision{} },
			NewList: func() runtime.Object { return &appsv1.ControllerRevisionList{} },
			Hooks: typed[*appsv1.ControllerRevision]{
				Validate: validation.ValidateControllerRevision, ValidateUpdate: validation.ValidateControllerRevisionUpdate,
			}.hooks(),
		},
		{
			GroupVersion: v1, Kind: "ReplicationController", Resource: "replicationcontrollers", ShortNames: []string{"rc"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.ReplicationController{} },
			NewList: func() runtime.Object { return &corev1.ReplicationControllerList{} },
			Hooks: typed[*corev1.ReplicationController]{
				Default:       validation.DefaultReplicationController,
				PrepareCreate: validation.PrepareReplicationControllerForCreate, PrepareUpdate: validation.PrepareReplicationControllerForUpdate,
				Validate: validation.ValidateReplicationController, ValidateUpdate: validation.ValidateReplicationControllerUpdate, ValidateStatus: validation.ValidateReplicationControllerStatusUpdate,
				Warnings: validation.ReplicationControllerWarnings,
			}.hooks(),
			HasStatus: true, OrphansByDefault: true, Generation: CountedGeneration,
			Fields:       controllerFields,
			Subresources: scale(v1),
		},
	}
}
