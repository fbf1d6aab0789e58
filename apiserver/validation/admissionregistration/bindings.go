package admissionregistration

import (
	"slices"

	v1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// ValidateValidatingBinding validates a new binding.
func ValidateValidatingBinding(b *v1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	errs := validateBinding(&b.ObjectMeta, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	path := field.NewPath("spec", "validationActions")
	actions := b.Spec.ValidationActions
	if len(actions) == 0 {
		errs = append(errs, field.Required(path, "at least one validation action is required"))
	}
	for i, action := range actions {
		errs = append(errs, checks.OneOf(action, path.Index(i), v1.Audit, v1.Deny, v1.Warn)...)
		if slices.Contains(actions[:i], action) {
			errs = append(errs, field.Duplicate(path.Index(i), action))
		}
	}
	if slices.Contains(actions, v1.Deny) && slices.Contains(actions, v1.Warn) {
		errs = append(errs, field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return errs
}

// ValidateValidatingBindingUpdate validates an update.
func ValidateValidatingBindingUpdate(b, old *v1.ValidatingAdmissionPolicyBinding) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta), ValidateValidatingBinding(b)...)
}

// ValidateMutatingBinding validates a new binding.
func ValidateMutatingBinding(b *v1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return validateBinding(&b.ObjectMeta, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
}

// ValidateMutatingBindingUpdate validates an update.
func ValidateMutatingBindingUpdate(b, old *v1.MutatingAdmissionPolicyBinding) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta), ValidateMutatingBinding(b)...)
}

func validateBinding(meta *metav1.ObjectMeta, policyName string, params *v1.ParamRef, matches *v1.MatchResources) field.ErrorList {
	errs := checks.ObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec")
	if policyName == "" {
		errs = append(errs, field.Required(path.Child("policyName"), ""))
	} else {
		errs = append(errs, checks.DNSSubdomain(policyName, path.Child("policyName"))...)
	}
	if params != nil {
		errs = append(errs, validateParamRef(params, path.Child("paramRef"))...)
	}
	if matches != nil {
		errs = append(errs, validateMatchResources(matches, path.Child("matchResources"))...)
	}
	return errs
}

func validateParamRef(r *v1.ParamRef, path *field.Path) (errs field.ErrorList) {
	switch {
	case r.Name == "" && r.Selector == nil:
		errs = append(errs, field.Required(path, "one of name or selector must be specified"))
	case r.Name != "" && r.Selector != nil:
		errs = append(errs, field.Forbidden(path.Child("name"), "name and selector are mutually exclusive"))
	case r.Name != "":
		errs = append(errs, checks.InvalidEach(path.Child("name"), r.Name, apivalidation.NameIsDNSSubdomain(r.Name, false))...)
	default:
		errs = append(errs, checks.LabelSelector(r.Selector, false, path.Child("selector"))...)
	}
	if r.ParameterNotFoundAction == nil {
		return append(errs, field.Required(path.Child("parameterNotFoundAction"), ""))
	}
	return append(errs, checks.OneOf(*r.ParameterNotFoundAction, path.Child("parameterNotFoundAction"), v1.AllowAction, v1.DenyAction)...)
}
