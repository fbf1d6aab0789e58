package review

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// NewSelfSubjectRulesReview serves selfsubjectrulesreviews, which list the rules of the requester
// in a namespace (kubectl auth can-i --list).
func NewSelfSubjectRulesReview(rules authorizer.RuleResolver) *Storage[*authorizationv1.SelfSubjectRulesReview] {
	return &Storage[*authorizationv1.SelfSubjectRulesReview]{
		newObject: func() *authorizationv1.SelfSubjectRulesReview { return &authorizationv1.SelfSubjectRulesReview{} },
		kind:      "SelfSubjectRulesReview", singular: "selfsubjectrulesreview",
		evaluate: func(ctx context.Context, r *authorizationv1.SelfSubjectRulesReview) error {
			u, err := requester(ctx)
			if err != nil {
				return err
			}
			if r.Spec.Namespace == "" {
				return apierrors.NewBadRequest("no namespace on request")
			}
			resourceRules, nonResourceRules, incomplete, err := rules.RulesFor(ctx, u, r.Spec.Namespace)
			r.Status = authorizationv1.SubjectRulesReviewStatus{
				ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{},
				Incomplete: incomplete,
			}
			if err != nil {
				r.Status.EvaluationError = err.Error()
			}
			for _, rule := range resourceRules {
				r.Status.ResourceRules = append(r.Status.ResourceRules, authorizationv1.ResourceRule{
					Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(),
					Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
				})
			}
			for _, rule := range nonResourceRules {
				r.Status.NonResourceRules = append(r.Status.NonResourceRules, authorizationv1.NonResourceRule{
					Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs(),
				})
			}
			return nil
		},
	}
}
