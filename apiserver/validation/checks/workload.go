package checks

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/podvalidation/podwarnings"
)

// SelectorMismatchText is the error for a selector that does not match the template.
const SelectorMismatchText = "`selector` does not match template `labels`"

// RequiredSelector validates the selector of a workload that requires one. Errors contain owner,
// e.g. "deployment".
func RequiredSelector(s *metav1.LabelSelector, allowInvalidLabels bool, owner string, path *field.Path) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := LabelSelector(s, allowInvalidLabels, path)
	if IsEmptySelector(s) {
		errs = append(errs, field.Invalid(path, s, "empty selector is invalid for "+owner))
	}
	return errs
}

// MatchingTemplate requires s to match the template's labels. It accepts an empty selector, which
// other checks report, but not labels.Nothing().
func MatchingTemplate(s labels.Selector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if s.Empty() || s.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), template.Labels, SelectorMismatchText)}
}

// AlwaysRestartTemplate rejects fields that workloads with restartPolicy Always do not support.
// owner is e.g. "ReplicaSet".
func AlwaysRestartTemplate(template *corev1.PodTemplateSpec, owner string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if template.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(path.Child("spec", "restartPolicy"), template.Spec.RestartPolicy,
			[]corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if template.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(path.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in "+owner+" is not Supported"))
	}
	return errs
}

// ReplicaTemplate validates the template of a ReplicaSet or Deployment.
func ReplicaTemplate(template *corev1.PodTemplateSpec, s labels.Selector, replicas int32, path *field.Path) field.ErrorList {
	errs := MatchingTemplate(s, template, path)
	errs = append(errs, podvalidation.ValidatePodTemplateSpec(template, path)...)
	if replicas > 1 {
		errs = append(errs, NoSharedWritableDisks(template.Spec.Volumes, path.Child("spec", "volumes"))...)
	}
	return append(errs, AlwaysRestartTemplate(template, "ReplicaSet", path)...)
}

// NoSharedWritableDisks rejects writable GCE persistent disks. Only one node can mount them, so
// workloads with more than one replica cannot use them.
func NoSharedWritableDisks(volumes []corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range volumes {
		if v.GCEPersistentDisk != nil && !v.GCEPersistentDisk.ReadOnly {
			errs = append(errs, field.Invalid(path.Index(i).Child("gcePersistentDisk", "readOnly"), false,
				"must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only"))
		}
	}
	return errs
}

// NameWarning recommends a DNS label for names that become part of pod names and hostnames.
func NameWarning(name string) []string {
	texts := validation.IsDNS1123Label(name)
	if len(texts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", texts)}
}

var templatePath = field.NewPath("spec", "template")

// TemplateWarnings returns warnings for the template, or none if an update does not change the spec.
// old is nil for a new object.
func TemplateWarnings(ctx context.Context, template, old *corev1.PodTemplateSpec, specChanged bool) []string {
	if old != nil && !specChanged {
		return nil
	}
	return podwarnings.PodTemplateWarnings(ctx, templatePath, template, old)
}

// NotGreaterThan returns an error if count exceeds limit. The error contains limitName.
func NotGreaterThan(count, limit int32, path *field.Path, limitName string) field.ErrorList {
	if count <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(path, count, "cannot be greater than "+limitName)}
}

// NotDecremented requires a collision count not to decrease.
func NotDecremented(count, old *int32, path *field.Path) field.ErrorList {
	var oldValue, value int32
	if old != nil {
		oldValue = *old
	}
	if count != nil {
		value = *count
	}
	if value < oldValue {
		return field.ErrorList{field.Invalid(path, value, "cannot be decremented")}
	}
	return nil
}
