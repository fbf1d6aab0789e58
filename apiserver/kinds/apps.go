package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/subresource"
)

func scale(version schema.GroupVersion) map[string]func(Stores) rest.Storage {
	return map[string]func(Stores) rest.Storage{
		"scale": func(s Stores) rest.Storage { return subresource.NewScaleREST(s.Own, version) },
	}
}

// apps returns the workload kinds of apps/v1, and ReplicationController.
func apps() []Kind {
	gv := appsv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Deployment", Resource: "deployments", ShortNames: []string{"deploy"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &appsv1.Deployment{} },
			NewList:   func() runtime.Object { return &appsv1.DeploymentList{} },
			HasStatus: true, ResetOnStatusUpdate: []string{"metadata.labels"}, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "ReplicaSet", Resource: "replicasets", ShortNames: []string{"rs"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &appsv1.ReplicaSet{} },
			NewList:   func() runtime.Object { return &appsv1.ReplicaSetList{} },
			HasStatus: true, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "StatefulSet", Resource: "statefulsets", ShortNames: []string{"sts"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &appsv1.StatefulSet{} },
			NewList:   func() runtime.Object { return &appsv1.StatefulSetList{} },
			HasStatus: true, Generation: CountedGeneration,
			Subresources: scale(gv),
		},
		{
			GroupVersion: gv, Kind: "DaemonSet", Resource: "daemonsets", ShortNames: []string{"ds"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &appsv1.DaemonSet{} },
			NewList:   func() runtime.Object { return &appsv1.DaemonSetList{} },
			HasStatus: true, Generation: CountedGeneration,
		},
		{
			GroupVersion: gv, Kind: "ControllerRevision", Resource: "controllerrevisions", Namespaced: true,
			New:     func() runtime.Object { return &appsv1.ControllerRevision{} },
			NewList: func() runtime.Object { return &appsv1.ControllerRevisionList{} },
		},
		{
			GroupVersion: v1, Kind: "ReplicationController", Resource: "replicationcontrollers", ShortNames: []string{"rc"}, Categories: []string{"all"}, Namespaced: true,
			New:       func() runtime.Object { return &corev1.ReplicationController{} },
			NewList:   func() runtime.Object { return &corev1.ReplicationControllerList{} },
			HasStatus: true, OrphansByDefault: true, Generation: CountedGeneration,
			Fields:       controllerFields,
			Subresources: scale(v1),
		},
	}
}
