package validation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
)

const selectorMismatchText = "`selector` does not match template `labels`"

// requiredSelector checks the selector of a workload that cannot do without, e.g. "deployment".
func requiredSelector(s *metav1.LabelSelector, badLabels bool, owner string, path *field.Path) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := labelSelector(s, badLabels, path)
	if emptySelector(s) {
		errs = append(errs, field.Invalid(path, s, "empty selector is invalid for "+owner))
	}
	return errs
}

// matchingTemplate checks that the selector finds the template's pods. An absent selector matches nothing.
func matchingTemplate(s labels.Selector, template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if s.Empty() || s.Matches(labels.Set(template.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), template.Labels, selectorMismatchText)}
}

// alwaysRestartTemplate checks what a template may not say whose pods run for ever; owner is e.g. "ReplicaSet".
func alwaysRestartTemplate(template *corev1.PodTemplateSpec, owner string, path *field.Path) field.ErrorList {
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

// replicaTemplate judges the template of a ReplicaSet or of what makes ReplicaSets.
func replicaTemplate(template *corev1.PodTemplateSpec, s labels.Selector, replicas int32, path *field.Path) field.ErrorList {
	errs := matchingTemplate(s, template, path)
	errs = append(errs, podvalidation.ValidatePodTemplateSpec(template, path)...)
	if replicas > 1 {
		errs = append(errs, noSharedWritableDisks(template.Spec.Volumes, path.Child("spec", "volumes"))...)
	}
	return append(errs, alwaysRestartTemplate(template, "ReplicaSet", path)...)
}

// noSharedWritableDisks refuses writable disks that only one machine at a time can mount.
func noSharedWritableDisks(volumes []corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range volumes {
		if v.GCEPersistentDisk != nil && !v.GCEPersistentDisk.ReadOnly {
			errs = append(errs, field.Invalid(path.Index(i).Child("gcePersistentDisk", "readOnly"), false,
				"must be true for replicated pods > 1; GCE PD can only be mounted on multiple machines if it is read-only"))
		}
	}
	return errs
}

// nameWarning recommends a DNS label for names that go into pod names and hostnames.
func nameWarning(name string) []string {
	texts := validation.IsDNS1123Label(name)
	if len(texts) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: %v", texts)}
}

var templatePath = field.NewPath("spec", "template")

// templateWarnings is silent on updates that leave the spec as it was.
func templateWarnings(ctx context.Context, template, old *corev1.PodTemplateSpec, specChanged bool) []string {
	if old != nil && !specChanged {
		return nil
	}
	return podvalidation.PodTemplateWarnings(ctx, templatePath, template, old)
}

// notGreaterThan checks that a count in a status is within another one.
func notGreaterThan(count, limit int32, path *field.Path, limitName string) field.ErrorList {
	if count <= limit {
		return nil
	}
	return field.ErrorList{field.Invalid(path, count, "cannot be greater than "+limitName)}
}

// notDecremented checks a collision count.
func notDecremented(now, before *int32, path *field.Path) field.ErrorList {
	var was, is int32
	if before != nil {
		was = *before
	}
	if now != nil {
		is = *now
	}
	if is < was {
		return field.ErrorList{field.Invalid(path, is, "cannot be decremented")}
	}
	return nil
}
