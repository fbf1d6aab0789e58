package review

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var spec = field.NewPath("spec")

// validateTarget requires exactly one of resource and non-resource attributes.
func validateTarget(resource *authorizationv1.ResourceAttributes, nonResource *authorizationv1.NonResourceAttributes) field.ErrorList {
	switch {
	case resource != nil && nonResource != nil:
		return field.ErrorList{field.Invalid(spec.Child("nonResourceAttributes"), nonResource, "cannot be specified in combination with resourceAttributes")}
	case resource == nil && nonResource == nil:
		return field.ErrorList{field.Invalid(spec.Child("resourceAttributes"), resource, "exactly one of nonResourceAttributes or resourceAttributes must be specified")}
	case resource == nil:
		return nil
	}
	var errs field.ErrorList
	path := spec.Child("resourceAttributes")
	if s := resource.FieldSelector; s != nil {
		errs = append(errs, validateSelector(path.Child("fieldSelector"), s.RawSelector, len(s.Requirements))...)
	}
	if s := resource.LabelSelector; s != nil {
		errs = append(errs, validateSelector(path.Child("labelSelector"), s.RawSelector, len(s.Requirements))...)
	}
	return errs
}

func validateSelector(path *field.Path, raw string, requirements int) field.ErrorList {
	switch {
	case raw != "" && requirements > 0:
		return field.ErrorList{field.Invalid(path.Child("rawSelector"), raw, "may not specified at the same time as requirements")}
	case raw == "" && requirements == 0:
		return field.ErrorList{field.Required(path.Child("requirements"), "when "+path.String()+" is specified, requirements or rawSelector is required")}
	}
	return nil
}

func validateSubject(s *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	errs := validateTarget(s.ResourceAttributes, s.NonResourceAttributes)
	if s.User == "" && len(s.Groups) == 0 {
		errs = append(errs, field.Invalid(spec.Child("user"), s.User, "at least one of user or group must be specified"))
	}
	return errs
}

// validateMeta requires empty metadata, except for managed fields and, if namespaced, the
// namespace.
func validateMeta(meta metav1.ObjectMeta, namespaced bool) field.ErrorList {
	meta.ManagedFields = nil
	message := "must be empty"
	if namespaced {
		meta.Namespace = ""
		message = "must be empty except for namespace"
	}
	if equality.Semantic.DeepEqual(meta, metav1.ObjectMeta{}) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata"), meta, message)}
}

// newInvalid returns an Invalid error with errs, or nil if there are none.
func newInvalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(authorizationv1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}
