package kinds

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
)

// withTermLimits applies the limits of a new pod to the pod template of an object, if it has one.
// Without it, the server would accept a workload whose pods cannot be created.
func withTermLimits(h Hooks) Hooks {
	if create := h.Validate; create != nil {
		h.Validate = func(ctx context.Context, obj runtime.Object) field.ErrorList {
			return append(create(ctx, obj), validateTermLimits(obj, nil)...)
		}
	}
	if update := h.ValidateUpdate; update != nil {
		h.ValidateUpdate = func(ctx context.Context, obj, old runtime.Object) field.ErrorList {
			return append(update(ctx, obj, old), validateTermLimits(obj, old)...)
		}
	}
	return h
}

// validateTermLimits validates the pod template of obj. old is nil on creation.
func validateTermLimits(obj, old runtime.Object) field.ErrorList {
	template, path := podTemplate(obj)
	if template == nil {
		return nil
	}
	oldTemplate, _ := podTemplate(old)
	return podvalidation.ValidateTemplateTermLimits(template, oldTemplate, path)
}

// podTemplate returns the pod template of an object and its path, or nil.
func podTemplate(obj runtime.Object) (*corev1.PodTemplateSpec, *field.Path) {
	path := field.NewPath("spec", "template")
	switch o := obj.(type) {
	case *appsv1.DaemonSet:
		return &o.Spec.Template, path
	case *appsv1.Deployment:
		return &o.Spec.Template, path
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, path
	case *appsv1.StatefulSet:
		return &o.Spec.Template, path
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template, field.NewPath("spec", "jobTemplate", "spec", "template")
	case *batchv1.Job:
		return &o.Spec.Template, path
	case *corev1.PodTemplate:
		return &o.Template, field.NewPath("template")
	case *corev1.ReplicationController:
		return o.Spec.Template, path
	}
	return nil, nil
}
