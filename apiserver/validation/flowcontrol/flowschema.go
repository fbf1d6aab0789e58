package flowcontrol

import (
	"fmt"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"

	"github.com/berthproject/berth/apiserver/podvalidation/defaulting"
	"github.com/berthproject/berth/apiserver/validation/checks"
)

const (
	defaultPrecedence = 1000
	maxPrecedence     = 10000
)

var (
	resourceVerbs    = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy"}
	nonResourceVerbs = []string{"get", "head", "post", "put", "patch", "delete", "options", "connect", "trace"}
)

// DefaultFlowSchema sets the default precedence.
func DefaultFlowSchema(f *flowcontrolv1.FlowSchema) {
	defaulting.Set(&f.Spec.MatchingPrecedence, defaultPrecedence)
}

// ValidateFlowSchema validates a new FlowSchema.
func ValidateFlowSchema(f *flowcontrolv1.FlowSchema) field.ErrorList {
	errs := checks.ObjectMeta(&f.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec")
	for _, mandatory := range bootstrap.MandatoryFlowSchemas {
		if f.Name == mandatory.Name && !checks.SemanticEqual(mandatory.Spec, f.Spec) {
			errs = append(errs, field.Invalid(path, f.Spec, fmt.Sprintf("spec of '%s' must equal the fixed value", f.Name)))
		}
	}
	errs = append(errs, validateFlowSchemaSpec(f, path)...)
	return append(errs, validateFlowSchemaConditions(f)...)
}

// ValidateFlowSchemaUpdate validates an update.
func ValidateFlowSchemaUpdate(f, old *flowcontrolv1.FlowSchema) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&f.ObjectMeta, &old.ObjectMeta), ValidateFlowSchema(f)...)
}

// ValidateFlowSchemaStatusUpdate validates the conditions.
func ValidateFlowSchemaStatusUpdate(f, old *flowcontrolv1.FlowSchema) field.ErrorList {
	return append(checks.ObjectMetaUpdate(&f.ObjectMeta, &old.ObjectMeta), validateFlowSchemaConditions(f)...)
}

func validateFlowSchemaConditions(f *flowcontrolv1.FlowSchema) field.ErrorList {
	var types, reasons []string
	for _, c := range f.Status.Conditions {
		types, reasons = append(types, string(c.Type)), append(reasons, c.Reason)
	}
	return validateConditions(types, reasons, field.NewPath("status", "conditions"))
}

func validateFlowSchemaSpec(f *flowcontrolv1.FlowSchema, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	precedencePath := path.Child("matchingPrecedence")
	switch p := f.Spec.MatchingPrecedence; {
	case p <= 0:
		errs = append(errs, field.Invalid(precedencePath, p, "must be a positive value"))
	case p > maxPrecedence:
		errs = append(errs, field.Invalid(precedencePath, p, fmt.Sprintf("must not be greater than %d", maxPrecedence)))
	case p == 1 && f.Name != flowcontrolv1.FlowSchemaNameExempt:
		errs = append(errs, field.Invalid(precedencePath, p, "only the schema named 'exempt' may have matchingPrecedence 1"))
	}
	if d := f.Spec.DistinguisherMethod; d != nil && d.Type != flowcontrolv1.FlowDistinguisherMethodByUserType && d.Type != flowcontrolv1.FlowDistinguisherMethodByNamespaceType {
		errs = append(errs, field.NotSupported(path.Child("distinguisherMethod"), d, []flowcontrolv1.FlowDistinguisherMethodType{
			flowcontrolv1.FlowDistinguisherMethodByNamespaceType, flowcontrolv1.FlowDistinguisherMethodByUserType}))
	}
	name, childPath := f.Spec.PriorityLevelConfiguration.Name, path.Child("priorityLevelConfiguration").Child("name")
	if name == "" {
		errs = append(errs, field.Required(childPath, "must reference a priority level"))
	} else {
		errs = append(errs, checks.InvalidEach(childPath, name, apivalidation.NameIsDNSSubdomain(name, false))...)
	}
	for i := range f.Spec.Rules {
		errs = append(errs, validatePolicyRules(&f.Spec.Rules[i], path.Child("rules").Index(i))...)
	}
	return errs
}

func validatePolicyRules(r *flowcontrolv1.PolicyRulesWithSubjects, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	for i, s := range r.Subjects {
		errs = append(errs, validateSubject(s, path.Child("subjects").Index(i))...)
	}
	if len(r.ResourceRules) == 0 && len(r.NonResourceRules) == 0 {
		errs = append(errs, field.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i, rule := range r.ResourceRules {
		itemPath := path.Child("resourceRules").Index(i)
		errs = append(errs, validateVerbs(rule.Verbs, resourceVerbs, itemPath.Child("verbs"))...)
		errs = append(errs, validateWildcardList(rule.APIGroups, flowcontrolv1.APIGroupAll, itemPath.Child("apiGroups"), "resource rules must supply at least one api group", "if '*' is present, must not specify other api groups")...)
		errs = append(errs, validateWildcardList(rule.Resources, flowcontrolv1.ResourceAll, itemPath.Child("resources"), "resource rules must supply at least one resource", "if '*' is present, must not specify other resources")...)
		errs = append(errs, validateNamespaces(rule, itemPath.Child("namespaces"))...)
	}
	for i, rule := range r.NonResourceRules {
		itemPath := path.Child("nonResourceRules").Index(i)
		errs = append(errs, validateVerbs(rule.Verbs, nonResourceVerbs, itemPath.Child("verbs"))...)
		errs = append(errs, validateNonResourceURLs(rule.NonResourceURLs, itemPath.Child("nonResourceURLs"))...)
	}
	return errs
}

func validateSubject(s flowcontrolv1.Subject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, member := range []struct {
		name  string
		kind  flowcontrolv1.SubjectKind
		isSet bool
	}{
		{"group", flowcontrolv1.SubjectKindGroup, s.Group != nil},
		{"serviceAccount", flowcontrolv1.SubjectKindServiceAccount, s.ServiceAccount != nil},
		{"user", flowcontrolv1.SubjectKindUser, s.User != nil},
	} {
		if member.isSet && member.kind != s.Kind {
			errs = append(errs, field.Forbidden(path.Child(member.name), fmt.Sprintf("%s is forbidden when subject kind is not '%s'", member.name, member.kind)))
		} else if !member.isSet && member.kind == s.Kind {
			errs = append(errs, field.Required(path.Child(member.name), fmt.Sprintf("%s is required when subject kind is '%s'", member.name, member.kind)))
		}
	}
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil && s.User.Name == "":
		errs = append(errs, field.Required(path.Child("user", "name"), ""))
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil && s.Group.Name == "":
		errs = append(errs, field.Required(path.Child("group", "name"), ""))
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		errs = append(errs, validateServiceAccount(s.ServiceAccount, path.Child("serviceAccount"))...)
	case s.Kind != flowcontrolv1.SubjectKindUser && s.Kind != flowcontrolv1.SubjectKindGroup && s.Kind != flowcontrolv1.SubjectKindServiceAccount:
		errs = append(errs, field.NotSupported(path.Child("kind"), s.Kind, []flowcontrolv1.SubjectKind{
			flowcontrolv1.SubjectKindGroup, flowcontrolv1.SubjectKindServiceAccount, flowcontrolv1.SubjectKindUser}))
	}
	return errs
}

func validateServiceAccount(s *flowcontrolv1.ServiceAccountSubject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.Name == "":
		errs = append(errs, field.Required(path.Child("name"), ""))
	case s.Name != flowcontrolv1.NameAll:
		errs = append(errs, checks.InvalidEach(path.Child("name"), s.Name, apivalidation.ValidateServiceAccountName(s.Name, false))...)
	}
	if s.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	return append(errs, checks.InvalidEach(path.Child("namespace"), s.Namespace, apivalidation.ValidateNamespaceName(s.Namespace, false))...)
}

func validateVerbs(verbs, knownVerbs []string, path *field.Path) field.ErrorList {
	errs := validateWildcardList(verbs, flowcontrolv1.VerbAll, path, "verbs must contain at least one value", "if '*' is present, must not specify other verbs")
	if slices.Contains(verbs, flowcontrolv1.VerbAll) {
		return errs
	}
	for i, v := range verbs {
		if !slices.Contains(knownVerbs, strings.ToLower(v)) {
			errs = append(errs, field.NotSupported(path.Index(i), v, knownVerbs))
		}
	}
	return errs
}

// validateWildcardList requires at least one value, and no other value next to the wildcard.
func validateWildcardList(values []string, wildcard string, path *field.Path, requiredMsg, wildcardMsg string) field.ErrorList {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path, requiredMsg)}
	}
	if len(values) > 1 && slices.Contains(values, wildcard) {
		return field.ErrorList{field.Invalid(path, values, wildcardMsg)}
	}
	return nil
}

func validateNamespaces(rule flowcontrolv1.ResourcePolicyRule, path *field.Path) field.ErrorList {
	if len(rule.Namespaces) == 0 {
		if rule.ClusterScope {
			return nil
		}
		return field.ErrorList{field.Required(path, "resource rules that are not cluster scoped must supply at least one namespace")}
	}
	errs := validateWildcardList(rule.Namespaces, flowcontrolv1.NamespaceEvery, path, "", "if '*' is present, must not specify other namespaces")
	for i, name := range rule.Namespaces {
		if name != flowcontrolv1.NamespaceEvery {
			errs = append(errs, checks.InvalidEach(path.Index(i), name, apivalidation.ValidateNamespaceName(name, false))...)
		}
	}
	return errs
}

func validateNonResourceURLs(urls []string, path *field.Path) field.ErrorList {
	errs := validateWildcardList(urls, flowcontrolv1.NonResourceAll, path, "nonResourceURLs must contain at least one value", "if '*' is present, must not specify other non-resource URLs")
	for i, url := range urls {
		star := strings.Index(url, "*")
		switch {
		case url == flowcontrolv1.NonResourceAll:
		case !strings.HasPrefix(url, "/"):
			errs = append(errs, field.Invalid(path.Index(i), url, "must start with slash"))
		case strings.ContainsAny(url, " "):
			errs = append(errs, field.Invalid(path.Index(i), url, "must not contain white-space"))
		case url != "/" && strings.Contains(url, "//"):
			errs = append(errs, field.Invalid(path.Index(i), url, "must not contain double slash"))
		case star >= 0 && (star != len(url)-1 || !strings.HasSuffix(url, "/*")):
			errs = append(errs, field.Invalid(path.Index(i), url, "wildcard can only do suffix matching"))
		}
	}
	return errs
}
