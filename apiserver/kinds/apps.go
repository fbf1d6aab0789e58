package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/subresource"
	"github.com/berthproject/berth/apiserver/validation/apps"
)

// scale returns the subresource scale with Scale objects of a version.
func scale(version schema.GroupVersion) map[string]func(Stores) rest.Storage {
	return map[string]func(Stores) rest.Storage{
		"scale": func(s Stores) rest.Storage { return subresource.NewScaleREST(s.Parent, version) },
	}
}

// appsKinds returns the scalable workloads of apps/v1.
func appsKinds() []Kind {
	gv := appsv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Deployment", Resource: "deployments", ShortNames: []string{"deploy"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.Deployment{} },
			NewList: func() runtime.Object { return &appsv1.DeploymentList{} },
			Hooks: typedHooks[*appsv1.Deployment]{
				Default:       apps.DefaultDeployment,
				PrepareCreate: apps.PrepareDeploymentForCreate, PrepareUpdate: apps.PrepareDeploymentForUpdate, PrepareStatus: apps.PrepareDeploymentStatusUpdate,
				Validate: apps.ValidateDeployment, ValidateUpdate: apps.ValidateDeploymentUpdate, ValidateStatus: apps.ValidateDeploymentStatusUpdate,
				Warnings: apps.DeploymentWarnings,
			}.hooks(),
			HasStatus: true, ResetOnStatusUpdate: []string{"metadata.labels"}, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "ReplicaSet", Resource: "replicasets", ShortNames: []string{"rs"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.ReplicaSet{} },
			NewList: func() runtime.Object { return &appsv1.ReplicaSetList{} },
			Hooks: typedHooks[*appsv1.ReplicaSet]{
				Default:       apps.DefaultReplicaSet,
				PrepareCreate: apps.PrepareReplicaSetForCreate, PrepareUpdate: apps.PrepareReplicaSetForUpdate,
				Validate: apps.ValidateReplicaSet, ValidateUpdate: apps.ValidateReplicaSetUpdate, ValidateStatus: apps.ValidateReplicaSetStatusUpdate,
				Warnings: apps.ReplicaSetWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "StatefulSet", Resource: "statefulsets", ShortNames: []string{"sts"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.StatefulSet{} },
			NewList: func() runtime.Object { return &appsv1.StatefulSetList{} },
			Hooks: typedHooks[*appsv1.StatefulSet]{
				Default:       apps.DefaultStatefulSet,
				PrepareCreate: apps.PrepareStatefulSetForCreate, PrepareUpdate: apps.PrepareStatefulSetForUpdate,
				Validate: apps.ValidateStatefulSet, ValidateUpdate: apps.ValidateStatefulSetUpdate, ValidateStatus: apps.ValidateStatefulSetStatusUpdate,
				Warnings: apps.StatefulSetWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
	}
}

// otherWorkloadKinds returns DaemonSet, ControllerRevision and ReplicationController.
func otherWorkloadKinds() []Kind {
	gv := appsv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "DaemonSet", Resource: "daemonsets", ShortNames: []string{"ds"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &appsv1.DaemonSet{} },
			NewList: func() runtime.Object { return &appsv1.DaemonSetList{} },
			Hooks: typedHooks[*appsv1.DaemonSet]{
				Default:       apps.DefaultDaemonSet,
				PrepareCreate: apps.PrepareDaemonSetForCreate, PrepareUpdate: apps.PrepareDaemonSetForUpdate, PrepareStatus: apps.PrepareDaemonSetStatusUpdate,
				Validate: apps.ValidateDaemonSet, ValidateUpdate: apps.ValidateDaemonSetUpdate, ValidateStatus: apps.ValidateDaemonSetStatusUpdate,
				Warnings: apps.DaemonSetWarnings,
			}.hooks(),
			HasStatus: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "ControllerRevision", Resource: "controllerrevisions", Namespaced: true,
			New:     func() runtime.Object { return &appsv1.ControllerRevision{} },
			NewList: func() runtime.Object { return &appsv1.ControllerRevisionList{} },
			Hooks: typedHooks[*appsv1.ControllerRevision]{
				Validate: apps.ValidateControllerRevision, ValidateUpdate: apps.ValidateControllerRevisionUpdate,
			}.hooks(),
		},
		{
			GroupVersion: v1, Kind: "ReplicationController", Resource: "replicationcontrollers", ShortNames: []string{"rc"}, Categories: []string{"all"}, Namespaced: true,
			New:     func() runtime.Object { return &corev1.ReplicationController{} },
			NewList: func() runtime.Object { return &corev1.ReplicationControllerList{} },
			Hooks: typedHooks[*corev1.ReplicationController]{
				Default:       apps.DefaultReplicationController,
				PrepareCreate: apps.PrepareReplicationControllerForCreate, PrepareUpdate: apps.PrepareReplicationControllerForUpdate,
				Validate: apps.ValidateReplicationController, ValidateUpdate: apps.ValidateReplicationControllerUpdate, ValidateStatus: apps.ValidateReplicationControllerStatusUpdate,
				Warnings: apps.ReplicationControllerWarnings,
			}.hooks(),
			HasStatus: true, OrphansByDefault: true, Generation: CountedGeneration,
			Fields:       controllerFields,
			Subresources: scale(v1),
		},
	}
}
