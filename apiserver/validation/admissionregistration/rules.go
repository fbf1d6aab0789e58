package admissionregistration

import (
	"slices"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/validation/checks"
)

// validateRule validates the operations, API groups, API versions, resources and scope of a rule.
func validateRule(r *v1.RuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Operations) == 0 {
		errs = append(errs, field.Required(path.Child("operations"), ""))
	}
	if len(r.Operations) > 1 && slices.Contains(r.Operations, v1.OperationAll) {
		errs = append(errs, field.Invalid(path.Child("operations"), r.Operations, "if '*' is present, must not specify other operations"))
	}
	for i, operation := range r.Operations {
		errs = append(errs, checks.OneOf(operation, path.Child("operations").Index(i), v1.OperationAll, v1.Connect, v1.Create, v1.Delete, v1.Update)...)
	}
	errs = append(errs, validateNames(r.APIGroups, true, path.Child("apiGroups"))...)
	errs = append(errs, validateNames(r.APIVersions, false, path.Child("apiVersions"))...)
	errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
	if r.Scope != nil {
		errs = append(errs, checks.OneOf(*r.Scope, path.Child("scope"), v1.AllScopes, v1.ClusterScope, v1.NamespacedScope)...)
	}
	return errs
}

// validateNames requires one or more names, and that "*" is the only one. allowEmpty allows "", the core group.
func validateNames(list []string, allowEmpty bool, path *field.Path) (errs field.ErrorList) {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(list) > 1 && slices.Contains(list, "*") {
		errs = append(errs, field.Invalid(path, list, "if '*' is present, must not specify other values"))
	}
	if i := slices.Index(list, ""); i >= 0 && !allowEmpty {
		errs = append(errs, field.Required(path.Index(i), ""))
	}
	return errs
}

// validateResources requires RESOURCE or RESOURCE/SUBRESOURCE, and no entry that a wildcard covers.
func validateResources(list []string, path *field.Path) (errs field.ErrorList) {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for i, name := range list {
		itemPath := path.Index(i)
		resource, subresource, _ := strings.Cut(name, "/")
		switch {
		case name == "":
			errs = append(errs, field.Required(itemPath, ""))
		case name == "*/*" && len(list) > 1:
			errs = append(errs, field.Invalid(path, list, "if '*/*' is present, must not specify other resources"))
		case slices.Contains(list[:i], name):
			errs = append(errs, field.Invalid(itemPath, name, "listed twice"))
		case name != "*" && resource != "*" && strings.Contains(name, "/") && slices.Contains(list, resource+"/*") && subresource != "*":
			errs = append(errs, field.Invalid(itemPath, name, "if '"+resource+"/*' is present, must not specify '"+name+"'"))
		case strings.Contains(name, "/") && resource != "*" && slices.Contains(list, "*/"+subresource):
			errs = append(errs, field.Invalid(itemPath, name, "if '*/"+subresource+"' is present, must not specify '"+name+"'"))
		}
	}
	covered := func(name string) bool { return name != "*" && !strings.Contains(name, "/") }
	if slices.Contains(list, "*") && slices.ContainsFunc(list, covered) {
		errs = append(errs, field.Invalid(path, list, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

// validateMatchResources validates which requests a policy or binding matches.
func validateMatchResources(m *v1.MatchResources, path *field.Path) field.ErrorList {
	errs := validateSelectors(m.NamespaceSelector, m.ObjectSelector, path)
	if m.NamespaceSelector == nil {
		errs = append(errs, field.Required(path.Child("namespaceSelector"), ""))
	}
	if m.ObjectSelector == nil {
		errs = append(errs, field.Required(path.Child("objectSelector"), ""))
	}
	if m.MatchPolicy == nil {
		errs = append(errs, field.Required(path.Child("matchPolicy"), ""))
	} else {
		errs = append(errs, checks.OneOf(*m.MatchPolicy, path.Child("matchPolicy"), v1.Equivalent, v1.Exact)...)
	}
	errs = append(errs, validateNamedRules(m.ResourceRules, path.Child("resourceRules"))...)
	return append(errs, validateNamedRules(m.ExcludeResourceRules, path.Child("excludeResourceRules"))...)
}

func validateNamedRules(rules []v1.NamedRuleWithOperations, path *field.Path) (errs field.ErrorList) {
	for i := range rules {
		itemPath := path.Index(i)
		errs = append(errs, validateRule(&rules[i].RuleWithOperations, itemPath)...)
		for j, name := range rules[i].ResourceNames {
			switch {
			case name == "":
				errs = append(errs, field.Required(itemPath.Child("resourceNames").Index(j), ""))
			case slices.Contains(rules[i].ResourceNames[:j], name):
				errs = append(errs, field.Duplicate(itemPath.Child("resourceNames").Index(j), name))
			}
		}
	}
	return errs
}
