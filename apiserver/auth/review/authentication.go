package review

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// NewTokenReview serves tokenreviews with the token authenticator. audiences are the default of reviews
// that name none.
func NewTokenReview(tokens authenticator.Token, audiences []string) *Storage[*authenticationv1.TokenReview] {
	return &Storage[*authenticationv1.TokenReview]{
		newObject: func() *authenticationv1.TokenReview { return &authenticationv1.TokenReview{} },
		kind:      "TokenReview", singular: "tokenreview",
		evaluate: func(ctx context.Context, review *authenticationv1.TokenReview) error {
			if review.Spec.Token == "" {
				return apierrors.NewBadRequest("token is required for TokenReview in authentication")
			}
			requested := review.Spec.Audiences
			if len(requested) == 0 {
				requested = audiences
			}
			ctx = authenticator.WithAudiences(ctx, requested)
			resp, ok, err := tokens.AuthenticateToken(ctx, review.Spec.Token)
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok && err == nil}
			switch {
			case err != nil:
				review.Status.Error = err.Error()
			case !ok:
				review.Status.Error = "invalid bearer token"
			}
			if review.Status.Authenticated {
				review.Status.User = userInfo(resp.User)
				review.Status.Audiences = resp.Audiences
			}
			return nil
		},
	}
}

// NewSelfSubjectReview serves selfsubjectreviews (kubectl auth whoami). now returns the current
// time.
func NewSelfSubjectReview(now func() time.Time) *Storage[*authenticationv1.SelfSubjectReview] {
	return &Storage[*authenticationv1.SelfSubjectReview]{
		newObject: func() *authenticationv1.SelfSubjectReview { return &authenticationv1.SelfSubjectReview{} },
		kind:      "SelfSubjectReview", singular: "selfsubjectreview",
		evaluate: func(ctx context.Context, review *authenticationv1.SelfSubjectReview) error {
			u, err := requester(ctx)
			if err != nil {
				return err
			}
			review.CreationTimestamp = metav1.NewTime(now())
			review.Status.UserInfo = userInfo(u)
			return nil
		},
	}
}

func userInfo(u user.Info) authenticationv1.UserInfo {
	out := authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, values := range u.GetExtra() {
		if out.Extra == nil {
			out.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Extra[key] = values
	}
	return out
}
