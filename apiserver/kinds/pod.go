package kinds

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/poddefaults"
	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
	"github.com/berthproject/berth/apiserver/subresource"
)

func podKind() Kind {
	return Kind{
		GroupVersion: v1, Kind: "Pod", Resource: "pods", ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
		New:       func() runtime.Object { return &corev1.Pod{} },
		NewList:   func() runtime.Object { return &corev1.PodList{} },
		HasStatus: true, ResetOnStatusUpdate: []string{"metadata.deletionTimestamp", "metadata.ownerReferences"},
		Generation: CountedGeneration,
		Hooks: typedHooks[*corev1.Pod]{
			Default:       poddefaults.DefaultPod,
			PrepareCreate: podstrategy.PrepareForCreate, PrepareUpdate: podstrategy.PrepareForUpdate, PrepareStatus: podstrategy.PrepareForStatusUpdate,
			Validate: podvalidation.ValidatePod, ValidateUpdate: podvalidation.ValidatePodUpdate, ValidateStatus: podvalidation.ValidatePodStatusUpdate,
			Warnings: podwarnings.PodWarnings,
		}.hooks(),
		GracefulDelete: podGracefulDelete, ReturnDeleted: true,
		Fields: podFields, FieldAliases: map[string]string{"spec.host": "spec.nodeName"}, Trigger: "spec.nodeName",
		UpdateSubresources: map[string]UpdateSubresource{
			"ephemeralcontainers": {
				Prepare:     prepareUpdate(podstrategy.PrepareForEphemeralContainersUpdate),
				Validate:    validateUpdate(podvalidation.ValidatePodEphemeralContainersUpdate),
				ResetFields: []string{"status"},
			},
			"resize": {
				Prepare:     prepareUpdate(podstrategy.PrepareForResize),
				Validate:    validateUpdate(podvalidation.ValidatePodResize),
				ResetFields: []string{"status"},
			},
		},
		Subresources: map[string]func(Stores) rest.Storage{
			"binding": func(s Stores) rest.Storage { return subresource.NewBindingREST(s.Parent) },
		},
	}
}

// podGracefulDelete sets the grace period of a pod. It is 0 for pods that are unbound or finished;
// the node agent removes all others.
func podGracefulDelete(_ context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
	pod := obj.(*corev1.Pod)
	grace := int64(0)
	switch {
	case options.GracePeriodSeconds != nil:
		grace = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		grace = 0
	}
	if grace < 0 {
		grace = 1
	}
	options.GracePeriodSeconds = &grace
	return true
}
