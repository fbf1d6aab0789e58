package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// DefaultRoleBinding sets the API groups of roleRef and subjects.
func DefaultRoleBinding(b *rbacv1.RoleBinding) { defaultGroups(&b.RoleRef, b.Subjects) }

// DefaultClusterRoleBinding sets the API groups of roleRef and subjects.
func DefaultClusterRoleBinding(b *rbacv1.ClusterRoleBinding) { defaultGroups(&b.RoleRef, b.Subjects) }

func defaultGroups(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if role.APIGroup == "" {
		role.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}

// ValidateRole validates a new Role.
func ValidateRole(r *rbacv1.Role) field.ErrorList {
	return append(checks.ObjectMeta(&r.ObjectMeta, true, path.ValidatePathSegmentName), validatePolicyRules(r.Rules, true)...) //nolint:staticcheck // kube-apiserver uses it
}

// ValidateRoleUpdate validates an update.
func ValidateRoleUpdate(r, old *rbacv1.Role) field.ErrorList {
	return append(ValidateRole(r), checks.ObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)...)
}

// ValidateClusterRole validates a new ClusterRole.
func ValidateClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	errs := append(checks.ObjectMeta(&r.ObjectMeta, false, path.ValidatePathSegmentName), validatePolicyRules(r.Rules, false)...) //nolint:staticcheck // kube-apiserver uses it
	if r.AggregationRule == nil {
		return errs
	}
	selectorsPath := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		errs = append(errs, field.Required(selectorsPath, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		errs = append(errs, metavalidation.ValidateLabelSelector(&r.AggregationRule.ClusterRoleSelectors[i],
			metavalidation.LabelSelectorValidationOptions{}, selectorsPath.Index(i))...)
	}
	return errs
}

// ValidateClusterRoleUpdate validates an update.
func ValidateClusterRoleUpdate(r, old *rbacv1.ClusterRole) field.ErrorList {
	return append(ValidateClusterRole(r), checks.ObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)...)
}

func validatePolicyRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i := range rules {
		errs = append(errs, validatePolicyRule(&rules[i], namespaced, field.NewPath("rules").Index(i))...)
	}
	return errs
}

// validatePolicyRule requires verbs, and either resources with API groups or non-resource URLs.
func validatePolicyRule(r *rbacv1.PolicyRule, namespaced bool, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Verbs) == 0 {
		errs = append(errs, field.Required(fldPath.Child("verbs"), "verbs must contain at least one value"))
	}
	if len(r.NonResourceURLs) > 0 {
		if namespaced {
			errs = append(errs, field.Invalid(fldPath.Child("nonResourceURLs"), r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(r.APIGroups) > 0 || len(r.Resources) > 0 || len(r.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(fldPath.Child("nonResourceURLs"), r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
		}
		return errs
	}
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(fldPath.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(r.Resources) == 0 {
		errs = append(errs, field.Required(fldPath.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}

// ValidateRoleBinding validates a new RoleBinding.
func ValidateRoleBinding(b *rbacv1.RoleBinding) field.ErrorList {
	return validateBinding(&b.ObjectMeta, &b.RoleRef, b.Subjects, true, "Role", "ClusterRole")
}

// ValidateRoleBindingUpdate validates an update. roleRef is immutable.
func ValidateRoleBindingUpdate(b, old *rbacv1.RoleBinding) field.ErrorList {
	errs := append(ValidateRoleBinding(b), checks.ObjectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, validateSameRole(b.RoleRef, old.RoleRef)...)
}

// ValidateClusterRoleBinding validates a new ClusterRoleBinding.
func ValidateClusterRoleBinding(b *rbacv1.ClusterRoleBinding) field.ErrorList {
	return validateBinding(&b.ObjectMeta, &b.RoleRef, b.Subjects, false, "ClusterRole")
}

// ValidateClusterRoleBindingUpdate validates an update. roleRef is immutable.
func ValidateClusterRoleBindingUpdate(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	errs := append(ValidateClusterRoleBinding(b), checks.ObjectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, validateSameRole(b.RoleRef, old.RoleRef)...)
}

func validateSameRole(role, old rbacv1.RoleRef) field.ErrorList {
	if role == old {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("roleRef"), role, "cannot change roleRef")}
}

func validateBinding(m *metav1.ObjectMeta, role *rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool, kinds ...string) field.ErrorList {
	errs := checks.ObjectMeta(m, namespaced, path.ValidatePathSegmentName) //nolint:staticcheck // kube-apiserver uses it
	refPath := field.NewPath("roleRef")
	errs = append(errs, checks.OneOf(role.APIGroup, refPath.Child("apiGroup"), rbacv1.GroupName)...)
	errs = append(errs, checks.OneOf(role.Kind, refPath.Child("kind"), kinds...)...)
	if role.Name == "" {
		errs = append(errs, field.Required(refPath.Child("name"), ""))
	} else {
		errs = append(errs, checks.InvalidEach(refPath.Child("name"), role.Name, path.ValidatePathSegmentName(role.Name, false))...) //nolint:staticcheck // kube-apiserver uses it
	}
	for i := range subjects {
		errs = append(errs, validateSubject(&subjects[i], namespaced, field.NewPath("subjects").Index(i))...)
	}
	return errs
}

func validateSubject(s *rbacv1.Subject, namespaced bool, fldPath *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(fldPath.Child("name"), ""))
	}
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, checks.InvalidEach(fldPath.Child("name"), s.Name, apivalidation.ValidateServiceAccountName(s.Name, false))...)
		}
		errs = append(errs, checks.OneOf(s.APIGroup, fldPath.Child("apiGroup"), "")...)
		if !namespaced && s.Namespace == "" {
			errs = append(errs, field.Required(fldPath.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, checks.OneOf(s.APIGroup, fldPath.Child("apiGroup"), rbacv1.GroupName)...)
	default:
		errs = append(errs, field.NotSupported(fldPath.Child("kind"), s.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	return errs
}
