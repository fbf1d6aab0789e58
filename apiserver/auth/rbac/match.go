package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Allows reports whether one of the rules allows the request.
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

// matchesAny reports whether set contains value or the wildcard all.
func matchesAny(set []string, all, value string) bool {
	for _, s := range set {
		if s == all || s == value {
			return true
		}
	}
	return false
}

// resourceMatches reports whether an entry of set matches: "*" matches everything, "pods" and
// "pods/log" match exactly, and "*/scale" matches the subresource of every resource. As upstream,
// "pods/*" is a literal.
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
		name, sub, ok := strings.Cut(s, "/")
		if ok && sub == subresource && (name == resource || name == "*") {
			return true
		}
	}
	return false
}

// urlMatches reports whether path matches pattern. Only a trailing * is a wildcard.
func urlMatches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == path
}

// subjectMatches reports whether the subject of a binding is u. namespace is the namespace of the
// binding and the default for service accounts. It is "" for a ClusterRoleBinding.
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
