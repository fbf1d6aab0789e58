package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultNamespace sets the label with the name of the namespace.
func DefaultNamespace(ns *corev1.Namespace) {
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// PrepareNamespaceForCreate sets the phase to Active and the kubernetes finalizer. It sets the name
// label again, because a generated name is unknown during defaulting.
func PrepareNamespaceForCreate(ns *corev1.Namespace) {
	DefaultNamespace(ns)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// PrepareNamespaceForUpdate restores the status and spec.finalizers, which only the finalize subresource changes.
func PrepareNamespaceForUpdate(ns, old *corev1.Namespace) {
	ns.Spec.Finalizers = old.Spec.Finalizers
	ns.Status = old.Status
}

// PrepareNamespaceFinalize restores the status.
func PrepareNamespaceFinalize(ns, old *corev1.Namespace) {
	ns.Status = old.Status
}

// ValidateNamespace validates a new namespace. The name is a DNS label.
func ValidateNamespace(ns *corev1.Namespace) field.ErrorList {
	return append(checks.ObjectMeta(&ns.ObjectMeta, false, apivalidation.ValidateNamespaceName), validateSpecFinalizers(ns)...)
}

// ValidateNamespaceUpdate validates an update of labels and annotations.
func ValidateNamespaceUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return append(ValidateNamespace(ns), checks.ObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)...)
}

// ValidateNamespaceStatusUpdate requires the phase Terminating exactly if the namespace is being
// deleted.
func ValidateNamespaceStatusUpdate(ns, old *corev1.Namespace) field.ErrorList {
	errs := checks.ObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)
	path, phase := field.NewPath("status", "Phase"), ns.Status.Phase
	if ns.DeletionTimestamp.IsZero() {
		if phase != corev1.NamespaceActive {
			errs = append(errs, field.Invalid(path, phase, "may only be 'Active' if `deletionTimestamp` is empty"))
		}
	} else if phase != corev1.NamespaceTerminating {
		errs = append(errs, field.Invalid(path, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
	}
	return errs
}

// ValidateNamespaceFinalizeUpdate validates the remaining finalizers.
func ValidateNamespaceFinalizeUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta), validateSpecFinalizers(ns)...)
}

func validateSpecFinalizers(ns *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	for i, f := range ns.Spec.Finalizers {
		path := field.NewPath("spec", "finalizers").Index(i)
		errs = append(errs, apivalidation.ValidateFinalizerName(string(f), path)...)
		errs = append(errs, podvalidation.ValidateUnqualifiedFinalizer(string(f), path)...)
	}
	return errs
}
