package rbac

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Authorizer implements authorizer.Authorizer and authorizer.RuleResolver with the stored roles. It
// never denies a request: without a matching rule it has no opinion.
type Authorizer struct {
	authorizer.AuthorizerFunc
	resolver *Resolver
}

var (
	_ authorizer.Authorizer   = &Authorizer{}
	_ authorizer.RuleResolver = &Authorizer{}
)

// NewAuthorizer returns an RBAC authorizer.
func NewAuthorizer(resolver *Resolver) *Authorizer {
	a := &Authorizer{resolver: resolver}
	a.AuthorizerFunc = a.authorize
	return a
}

func (a *Authorizer) authorize(_ context.Context, attrs authorizer.Attributes) (authorizer.Decision, string, error) {
	if attrs.GetUser() == nil {
		return authorizer.DecisionNoOpinion, "no user on request", nil
	}
	reason := ""
	var errs []error
	a.resolver.visit(attrs.GetUser(), attrs.GetNamespace(), func(from *grant, rule *rbacv1.PolicyRule, err error) bool {
		if err != nil {
			errs = append(errs, err)
			return true
		}
		// RoleBindings grant no non-resource URLs: such requests have no namespace, so visit skips
		// RoleBindings.
		if !ruleAllows(attrs, rule) {
			return true
		}
		reason = "RBAC: allowed by " + from.String()
		return false
	})
	if reason != "" {
		return authorizer.DecisionAllow, reason, nil
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return authorizer.DecisionNoOpinion, err.Error(), nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// RulesFor returns the rules of u in namespace, for SelfSubjectRulesReview.
func (a *Authorizer) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rules, err := a.resolver.Rules(ctx, u, namespace)
	var resources []authorizer.ResourceRuleInfo
	var urls []authorizer.NonResourceRuleInfo
	for _, rule := range rules {
		if len(rule.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			urls = append(urls, &authorizer.DefaultNonResourceRuleInfo{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
	}
	return resources, urls, false, err
}
