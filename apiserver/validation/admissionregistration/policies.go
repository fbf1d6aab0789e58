package admissionregistration

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

const maxAuditAnnotations = 20

var identifier = regexp.MustCompile("^[A-Za-z_][A-Za-z0-9_]*$")

// policySpec has the fields that both kinds of policies have.
type policySpec struct {
	paramKind        *v1.ParamKind
	matchConstraints *v1.MatchResources
	failurePolicy    *v1.FailurePolicyType
	variables        []v1.Variable
	matchConditions  []v1.MatchCondition
}

// ValidateValidatingPolicy validates a new policy.
func ValidateValidatingPolicy(p *v1.ValidatingAdmissionPolicy) field.ErrorList {
	return validateValidatingPolicy(p, nil)
}

// ValidateValidatingPolicyUpdate validates an update. Unchanged expressions are not rejected.
func ValidateValidatingPolicyUpdate(p, old *v1.ValidatingAdmissionPolicy) field.ErrorList {
	accepted := acceptedExpressions(old.Spec.Variables, old.Spec.MatchConditions)
	for i := range old.Spec.Validations {
		accepted.Insert(old.Spec.Validations[i].Expression, old.Spec.Validations[i].MessageExpression)
	}
	for i := range old.Spec.AuditAnnotations {
		accepted.Insert(old.Spec.AuditAnnotations[i].ValueExpression)
	}
	return append(checks.ObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), validateValidatingPolicy(p, accepted)...)
}

func acceptedExpressions(variables []v1.Variable, conditions []v1.MatchCondition) sets.Set[string] {
	accepted := sets.New[string]()
	for i := range variables {
		accepted.Insert(variables[i].Expression)
	}
	for i := range conditions {
		accepted.Insert(conditions[i].Expression)
	}
	return accepted
}

func validateValidatingPolicy(p *v1.ValidatingAdmissionPolicy, accepted sets.Set[string]) field.ErrorList {
	path := field.NewPath("spec")
	s := &p.Spec
	errs, c := validatePolicy(&p.ObjectMeta, policySpec{s.ParamKind, s.MatchConstraints, s.FailurePolicy, s.Variables, s.MatchConditions}, accepted, path)
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		errs = append(errs, field.Required(path.Child("validations"), "validations or auditAnnotations must contain at least one item"))
	}
	for i := range s.Validations {
		errs = append(errs, validateValidation(&s.Validations[i], c, path.Child("validations").Index(i))...)
	}
	if len(s.AuditAnnotations) > maxAuditAnnotations {
		errs = append(errs, field.TooMany(path.Child("auditAnnotations"), len(s.AuditAnnotations), maxAuditAnnotations))
	}
	keys := sets.New[string]()
	for i, annotation := range s.AuditAnnotations {
		itemPath := path.Child("auditAnnotations").Index(i)
		errs = append(errs, checks.QualifiedName(p.Name+"/"+annotation.Key, itemPath.Child("key"))...)
		if keys.Has(annotation.Key) {
			errs = append(errs, field.Duplicate(itemPath.Child("key"), annotation.Key))
		}
		keys.Insert(annotation.Key)
		errs = append(errs, c.check(&validating.AuditAnnotationCondition{ValueExpression: annotation.ValueExpression}, itemPath.Child("valueExpression"))...)
	}
	return errs
}

func validateValidation(v *v1.Validation, c compiler, path *field.Path) field.ErrorList {
	errs := c.check(&validating.ValidationCondition{Expression: strings.TrimSpace(v.Expression)}, path.Child("expression"))
	if strings.ContainsAny(v.Message, "\r\n") {
		errs = append(errs, field.Invalid(path.Child("message"), v.Message, "message must not contain line breaks"))
	}
	if strings.ContainsAny(v.Expression, "\r\n") && v.Message == "" && v.MessageExpression == "" {
		errs = append(errs, field.Required(path.Child("message"), "message must be specified if expression contains line breaks"))
	}
	if v.MessageExpression != "" {
		withoutAuthorizer := c
		withoutAuthorizer.declared.HasAuthorizer = false
		errs = append(errs, withoutAuthorizer.check(&validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}, path.Child("messageExpression"))...)
	}
	if v.Reason != nil {
		errs = append(errs, checks.OneOf(*v.Reason, path.Child("reason"), metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
			metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnauthorized)...)
	}
	return errs
}

// validatePolicy validates what both kinds of policies have. The returned compiler has the policy's variables.
func validatePolicy(meta *metav1.ObjectMeta, s policySpec, accepted sets.Set[string], path *field.Path) (field.ErrorList, compiler) {
	errs := checks.ObjectMeta(meta, false, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, validateParamKind(s.paramKind, path.Child("paramKind"))...)
	if s.failurePolicy == nil {
		errs = append(errs, field.Required(path.Child("failurePolicy"), ""))
	} else {
		errs = append(errs, checks.OneOf(*s.failurePolicy, path.Child("failurePolicy"), v1.Fail, v1.Ignore)...)
	}
	childPath := path.Child("matchConstraints")
	if s.matchConstraints == nil {
		errs = append(errs, field.Required(childPath, ""))
	} else {
		errs = append(errs, validateMatchResources(s.matchConstraints, childPath)...)
		if len(s.matchConstraints.ResourceRules) == 0 {
			errs = append(errs, field.Required(childPath.Child("resourceRules"), ""))
		}
	}
	c, err := newCompiler(accepted).withVariables(s.paramKind)
	if err != nil {
		return append(errs, field.InternalError(path, err)), c
	}
	names := sets.New[string]()
	for i := range s.variables {
		v, childPath := &s.variables[i], path.Child("variables").Index(i)
		switch {
		case !identifier.MatchString(v.Name):
			errs = append(errs, field.Invalid(childPath.Child("name"), v.Name, "name is not a valid CEL identifier"))
			continue
		case names.Has(v.Name):
			errs = append(errs, field.Duplicate(childPath.Child("name"), v.Name))
			continue
		}
		names.Insert(v.Name)
		errs = append(errs, c.addVariable(v, childPath.Child("expression"))...)
	}
	return append(errs, validateMatchConditions(s.matchConditions, c, path.Child("matchConditions"))...), c
}

func validateParamKind(kind *v1.ParamKind, path *field.Path) (errs field.ErrorList) {
	if kind == nil {
		return nil
	}
	if kind.APIVersion == "" {
		errs = append(errs, field.Required(path.Child("apiVersion"), ""))
	} else if _, err := schema.ParseGroupVersion(kind.APIVersion); err != nil {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), kind.APIVersion, err.Error()))
	}
	if kind.Kind == "" {
		errs = append(errs, field.Required(path.Child("kind"), ""))
	}
	return errs
}

// ValidateMutatingPolicy validates a new policy.
func ValidateMutatingPolicy(p *v1.MutatingAdmissionPolicy) field.ErrorList {
	return validateMutatingPolicy(p, nil)
}

// ValidateMutatingPolicyUpdate validates an update. Unchanged expressions are not rejected.
func ValidateMutatingPolicyUpdate(p, old *v1.MutatingAdmissionPolicy) field.ErrorList {
	accepted := acceptedExpressions(old.Spec.Variables, old.Spec.MatchConditions)
	for i := range old.Spec.Mutations {
		if m := &old.Spec.Mutations[i]; m.ApplyConfiguration != nil {
			accepted.Insert(m.ApplyConfiguration.Expression)
		} else if m.JSONPatch != nil {
			accepted.Insert(m.JSONPatch.Expression)
		}
	}
	return append(checks.ObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta), validateMutatingPolicy(p, accepted)...)
}

func validateMutatingPolicy(p *v1.MutatingAdmissionPolicy, accepted sets.Set[string]) field.ErrorList {
	path := field.NewPath("spec")
	s := &p.Spec
	errs, c := validatePolicy(&p.ObjectMeta, policySpec{s.ParamKind, s.MatchConstraints, s.FailurePolicy, s.Variables, s.MatchConditions}, accepted, path)
	errs = append(errs, checks.OneOf(s.ReinvocationPolicy, path.Child("reinvocationPolicy"), v1.IfNeededReinvocationPolicy, v1.NeverReinvocationPolicy)...)
	if len(s.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "must contain at least one item"))
	}
	c.declared.HasPatchTypes = true
	for i := range s.Mutations {
		errs = append(errs, validateMutation(&s.Mutations[i], c, path.Child("mutations").Index(i))...)
	}
	return errs
}

func validateMutation(m *v1.Mutation, c compiler, path *field.Path) field.ErrorList {
	errs := checks.OneOf(m.PatchType, path.Child("patchType"), v1.PatchTypeApplyConfiguration, v1.PatchTypeJSONPatch)
	apply, jsonPatch := path.Child("applyConfiguration"), path.Child("jsonPatch")
	switch {
	case m.PatchType == v1.PatchTypeApplyConfiguration && m.ApplyConfiguration == nil:
		errs = append(errs, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
	case m.PatchType == v1.PatchTypeApplyConfiguration:
		errs = append(errs, c.check(&patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression}, apply.Child("expression"))...)
	case m.PatchType == v1.PatchTypeJSONPatch && m.JSONPatch == nil:
		errs = append(errs, field.Required(jsonPatch, "must be specified when patchType is JSONPatch"))
	case m.PatchType == v1.PatchTypeJSONPatch:
		errs = append(errs, c.check(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression}, jsonPatch.Child("expression"))...)
	}
	if m.PatchType != v1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil {
		errs = append(errs, field.Invalid(apply, "{...}", "must not be specified when patchType is "+string(m.PatchType)))
	}
	if m.PatchType != v1.PatchTypeJSONPatch && m.JSONPatch != nil {
		errs = append(errs, field.Invalid(jsonPatch, "{...}", "must not be specified when patchType is "+string(m.PatchType)))
	}
	return errs
}
