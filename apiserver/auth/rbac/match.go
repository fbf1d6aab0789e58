package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Allows says whether one of rules grants what a asks for.
func Allows(a authorizer.Attributes, rules ...rbacv1.PolicyRule) bool {
	for i := range rules {
		if ruleAllows(a, &rules[i]) {
			return true
		}
	}
	return false
}

func ruleAllows(a authorizer.Attributes, rule *rbacv1.PolicyRule) bool {
	if !matchesAny(rule.Verbs, rbacv1.VerbAll, a.GetVerb()) {
		return false
	}
	if !a.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool { return urlMatches(url, a.GetPath()) })
	}
	return matchesAny(rule.APIGroups, rbacv1.APIGroupAll, a.GetAPIGroup()) &&
		resourceMatches(rule.Resources, a.GetResource(), a.GetSubresource()) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

func matchesAny(set []string, all, want string) bool {
	for _, s := range set {
		if s == all || s == want {
			return true
		}
	}
	return false
}

// resourceMatches knows three forms: "*" is everything, "pods" and
// "pods/log" are themselves, "*/scale" is that subresource of everything.
// "pods/*" is a literal in upstream's matcher, and so it is here.
func resourceMatches(set []string, resource, subresource string) bool {
	for _, s := range set {
		if s == rbacv1.ResourceAll {
			return true
		}
		if subresource == "" {
			if s == resource {
				return true
			}
			continue
		}
		left, right, ok := strings.Cut(s, "/")
		if ok && right == subresource && (left == resource || left == "*") {
			return true
		}
	}
	return false
}

// urlMatches: a trailing * is any suffix; elsewhere it is a plain character.
func urlMatches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == path
}

// subjectMatches says whether subject of a binding means u. namespace is the
// binding's, for service accounts without one; "" in a ClusterRoleBinding.
func subjectMatches(subject *rbacv1.Subject, u user.Info, namespace string) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return u.GetName() == subject.Name
	case rbacv1.GroupKind:
		return slices.Contains(u.GetGroups(), subject.Name)
	case rbacv1.ServiceAccountKind:
		if subject.Namespace != "" {
			namespace = subject.Namespace
		}
		return namespace != "" && serviceaccount.MatchesUsername(namespace, subject.Name, u.GetName())
	}
	return false
}
