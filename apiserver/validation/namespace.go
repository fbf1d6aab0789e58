package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DefaultNamespace labels the namespace with its name, so that selectors can choose it.
func DefaultNamespace(ns *corev1.Namespace) {
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	if ns.Labels == nil {
		ns.Labels = map[string]string{}
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// PrepareNamespaceForCreate makes the namespace active and keeps it until its content is gone.
// The name label is set again, since a generated name was not known to the defaults.
func PrepareNamespaceForCreate(ns *corev1.Namespace) {
	DefaultNamespace(ns)
	ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

// PrepareNamespaceForUpdate keeps the finalizers of the spec, which only the finalize subresource changes.
func PrepareNamespaceForUpdate(ns, old *corev1.Namespace) {
	ns.Spec.Finalizers = old.Spec.Finalizers
	ns.Status = old.Status
}

// PrepareNamespaceFinalize keeps the status.
func PrepareNamespaceFinalize(ns, old *corev1.Namespace) {
	ns.Status = old.Status
}

// ValidateNamespace judges a new namespace; its name is a DNS label.
func ValidateNamespace(ns *corev1.Namespace) field.ErrorList {
	return append(objectMeta(&ns.ObjectMeta, false, apivalidation.ValidateNamespaceName), specFinalizers(ns)...)
}

// ValidateNamespaceUpdate judges a change of labels and annotations.
func ValidateNamespaceUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return append(ValidateNamespace(ns), objectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)...)
}

// ValidateNamespaceStatusUpdate ties the phase to the deletion mark.
func ValidateNamespaceStatusUpdate(ns, old *corev1.Namespace) field.ErrorList {
	errs := objectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta)
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

// ValidateNamespaceFinalizeUpdate judges the finalizers that stay.
func ValidateNamespaceFinalizeUpdate(ns, old *corev1.Namespace) field.ErrorList {
	return append(objectMetaUpdate(&ns.ObjectMeta, &old.ObjectMeta), specFinalizers(ns)...)
}

func specFinalizers(ns *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	for i, f := range ns.Spec.Finalizers {
		path := field.NewPath("spec", "finalizers").Index(i)
		errs = append(errs, apivalidation.ValidateFinalizerName(string(f), path)...)
		errs = append(errs, unqualifiedFinalizer(string(f), path)...)
	}
	return errs
}
