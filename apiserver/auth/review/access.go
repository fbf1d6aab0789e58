package review

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

// NewSubjectAccessReview serves subjectaccessreviews, which authorize any subject.
func NewSubjectAccessReview(authz authorizer.UnconditionalAuthorizer) *Storage[*authorizationv1.SubjectAccessReview] {
	const kind = "SubjectAccessReview"
	return &Storage[*authorizationv1.SubjectAccessReview]{
		newObject: func() *authorizationv1.SubjectAccessReview { return &authorizationv1.SubjectAccessReview{} },
		kind:      kind, singular: "subjectaccessreview",
		evaluate: func(ctx context.Context, r *authorizationv1.SubjectAccessReview) error {
			if err := newInvalid(kind, append(validateSubject(&r.Spec), validateMeta(r.ObjectMeta, false)...)); err != nil {
				return err
			}
			r.Status = authorize(ctx, authz, attributes(subject(&r.Spec), r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes))
			return nil
		},
	}
}

// NewLocalSubjectAccessReview serves localsubjectaccessreviews, which authorize any subject within
// one namespace.
func NewLocalSubjectAccessReview(authz authorizer.UnconditionalAuthorizer) *Storage[*authorizationv1.LocalSubjectAccessReview] {
	const kind = "LocalSubjectAccessReview"
	return &Storage[*authorizationv1.LocalSubjectAccessReview]{
		newObject: func() *authorizationv1.LocalSubjectAccessReview { return &authorizationv1.LocalSubjectAccessReview{} },
		kind:      kind, singular: "localsubjectaccessreview", namespaced: true,
		evaluate: func(ctx context.Context, r *authorizationv1.LocalSubjectAccessReview) error {
			errs := append(validateSubject(&r.Spec), validateMeta(r.ObjectMeta, true)...)
			if target := r.Spec.ResourceAttributes; target != nil && target.Namespace != r.Namespace {
				errs = append(errs, field.Invalid(spec.Child("resourceAttributes", "namespace"), target.Namespace, "must match metadata.namespace"))
			}
			if r.Spec.NonResourceAttributes != nil {
				errs = append(errs, field.Invalid(spec.Child("nonResourceAttributes"), r.Spec.NonResourceAttributes, "disallowed on this kind of request"))
			}
			if err := newInvalid(kind, errs); err != nil {
				return err
			}
			if namespace := genericapirequest.NamespaceValue(ctx); namespace != r.Namespace {
				return apierrors.NewBadRequest(fmt.Sprintf("spec.resourceAttributes.namespace must match namespace: %v", namespace))
			}
			r.Status = authorize(ctx, authz, attributes(subject(&r.Spec), r.Spec.ResourceAttributes, nil))
			return nil
		},
	}
}

// NewSelfSubjectAccessReview serves selfsubjectaccessreviews, which authorize the requester
// (kubectl auth can-i).
func NewSelfSubjectAccessReview(authz authorizer.UnconditionalAuthorizer) *Storage[*authorizationv1.SelfSubjectAccessReview] {
	const kind = "SelfSubjectAccessReview"
	return &Storage[*authorizationv1.SelfSubjectAccessReview]{
		newObject: func() *authorizationv1.SelfSubjectAccessReview { return &authorizationv1.SelfSubjectAccessReview{} },
		kind:      kind, singular: "selfsubjectaccessreview",
		evaluate: func(ctx context.Context, r *authorizationv1.SelfSubjectAccessReview) error {
			errs := append(validateTarget(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes), validateMeta(r.ObjectMeta, false)...)
			if err := newInvalid(kind, errs); err != nil {
				return err
			}
			u, err := requester(ctx)
			if err != nil {
				return err
			}
			r.Status = authorize(ctx, authz, attributes(u, r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes))
			return nil
		},
	}
}

// subject returns the user that s describes.
func subject(s *authorizationv1.SubjectAccessReviewSpec) user.Info {
	u := &user.DefaultInfo{Name: s.User, UID: s.UID, Groups: s.Groups}
	for key, values := range s.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[key] = values
	}
	return u
}

// authorize returns the authorizer's decision on a.
func authorize(ctx context.Context, authz authorizer.UnconditionalAuthorizer, a authorizer.Attributes) authorizationv1.SubjectAccessReviewStatus {
	decision, reason, err := authz.Authorize(ctx, a)
	status := authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow,
		Denied:  decision == authorizer.DecisionDeny,
		Reason:  reason,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return status
}
