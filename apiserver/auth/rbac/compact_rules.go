package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// compactRules merges single-verb rules (as returned by validation.Covers) that differ only in the
// verb, and sorts the result.
func compactRules(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	index := map[string]int{}
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		key := rule
		key.Verbs = nil
		text := ruleString(key)
		i, ok := index[text]
		if !ok {
			index[text] = len(out)
			rule.Verbs = slices.Clone(rule.Verbs)
			out = append(out, rule)
			continue
		}
		for _, verb := range rule.Verbs {
			if !slices.Contains(out[i].Verbs, verb) {
				out[i].Verbs = append(out[i].Verbs, verb)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b rbacv1.PolicyRule) int { return strings.Compare(ruleString(a), ruleString(b)) })
	return out
}

// ruleString formats a rule as upstream's messages do, for example
// {APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}.
func ruleString(rule rbacv1.PolicyRule) string {
	var parts []string
	add := func(name string, values []string) {
		if len(values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", name, values))
		}
	}
	add("APIGroups", rule.APIGroups)
	add("Resources", rule.Resources)
	add("NonResourceURLs", rule.NonResourceURLs)
	add("ResourceNames", rule.ResourceNames)
	add("Verbs", rule.Verbs)
	return "{" + strings.Join(parts, ", ") + "}"
}
