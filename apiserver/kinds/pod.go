package kinds

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/podspec"
	"github.com/berthproject/berth/apiserver/subresource"
)

func pods() Kind {
	return Kind{
		GroupVersion: v1, Kind: "Pod", Resource: "pods", ShortNames: []string{"po"}, Categories: []string{"all"}, Namespaced: true,
		New:       func() runtime.Object { return &corev1.Pod{} },
		NewList:   func() runtime.Object { return &corev1.PodList{} },
		HasStatus: true, ResetOnStatus: []string{"metadata.deletionTimestamp", "metadata.ownerReferences"},
		Generation:     Counted,
		Default:        defaults(podspec.DefaultPod),
		PrepareCreate:  prepare(podspec.PrepareForCreate),
		PrepareUpdate:  prepareUpdate(podspec.PrepareForUpdate),
		PrepareStatus:  prepareUpdate(podspec.PrepareForStatusUpdate),
		Validate:       check(podspec.ValidatePod),
		ValidateUpdate: checkUpdate(podspec.ValidatePodUpdate),
		ValidateStatus: checkUpdate(podspec.ValidatePodStatusUpdate),
		Warnings:       warn(podspec.PodWarnings),
		GracefulDelete: podGrace, ReturnDeleted: true,
		Fields: podFields, FieldAliases: map[string]string{"spec.host": "spec.nodeName"}, Trigger: "spec.nodeName",
		Updates: map[string]Update{
			"ephemeralcontainers": {
				Prepare:  prepareUpdate(podspec.PrepareForEphemeralContainersUpdate),
				Validate: checkUpdate(podspec.ValidatePodEphemeralContainersUpdate),
				Resets:   []string{"status"},
			},
			"resize": {
				Prepare:  prepareUpdate(podspec.PrepareForResize),
				Validate: checkUpdate(podspec.ValidatePodResize),
				Resets:   []string{"status"},
			},
		},
		Subresources: map[string]func(Stores) rest.Storage{
			"binding": func(s Stores) rest.Storage { return subresource.NewBinding(s.Own) },
		},
	}
}

// podGrace lets a bound pod finish: the agent of its node removes it. A pod
// that is bound to no node, or has finished, has nobody to wait for.
func podGrace(_ context.Context, obj runtime.Object, options *metav1.DeleteOptions) bool {
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
