package review

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// annAuthorizer allows ann to get pods in namespace a and denies bob.
var annAuthorizer = authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.GetUser().GetName() == "bob":
		return authorizer.DecisionDeny, "not bob", nil
	case a.GetUser().GetName() == "ann" && a.GetVerb() == "get" && a.GetResource() == "pods" && a.GetNamespace() == "a":
		return authorizer.DecisionAllow, "ann", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
})

// contextFor returns the context of a request of u, which may be nil, in the namespace.
func contextFor(t *testing.T, u user.Info, namespace string) context.Context {
	ctx := genericapirequest.WithNamespace(t.Context(), namespace)
	if u == nil {
		return ctx
	}
	return genericapirequest.WithUser(ctx, u)
}

// code returns the HTTP status code of an API error, or 0.
func code(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

func post(ctx context.Context, s rest.Creater, in runtime.Object) (runtime.Object, error) {
	return s.Create(ctx, in, nil, &metav1.CreateOptions{})
}

func pods(namespace string) *authorizationv1.ResourceAttributes {
	return &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: namespace}
}

func TestSubjectAccessReviewDecisions(t *testing.T) {
	path := &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/healthz"}
	selector := &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", FieldSelector: &authorizationv1.FieldSelectorAttributes{
		RawSelector: "a=b", Requirements: []metav1.FieldSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}},
	}}
	for name, tc := range map[string]struct {
		meta            metav1.ObjectMeta
		spec            authorizationv1.SubjectAccessReviewSpec
		allowed, denied bool
		cause           string // field cause of a 422
	}{
		"allowed":                              {spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: pods("a")}, allowed: true},
		"no opinion":                           {spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: pods("b")}},
		"denied":                               {spec: authorizationv1.SubjectAccessReviewSpec{User: "bob", NonResourceAttributes: path}, denied: true},
		"no attributes":                        {spec: authorizationv1.SubjectAccessReviewSpec{User: "ann"}, cause: "exactly one of nonResourceAttributes or resourceAttributes must be specified"},
		"resource and non-resource attributes": {spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: pods("a"), NonResourceAttributes: path}, cause: "cannot be specified in combination with resourceAttributes"},
		"no subject":                           {spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: pods("a")}, cause: "at least one of user or group must be specified"},
		"two selectors":                        {spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: selector}, cause: "requirements"},
		"with a name":                          {meta: metav1.ObjectMeta{Name: "x"}, spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: pods("a")}, cause: "must be empty"},
		"group only":                           {spec: authorizationv1.SubjectAccessReviewSpec{Groups: []string{"g"}, ResourceAttributes: pods("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := post(contextFor(t, nil, ""), NewSubjectAccessReview(annAuthorizer), &authorizationv1.SubjectAccessReview{ObjectMeta: tc.meta, Spec: tc.spec})
			if tc.cause != "" {
				if code(err) != 422 || !strings.Contains(err.Error(), tc.cause) {
					t.Errorf("got error %v, want 422 with %q", err, tc.cause)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := out.(*authorizationv1.SubjectAccessReview).Status; s.Allowed != tc.allowed || s.Denied != tc.denied {
				t.Errorf("got status %+v, want allowed %v, denied %v", s, tc.allowed, tc.denied)
			}
		})
	}
}

func TestLocalAndSelfReviews(t *testing.T) {
	ann := &user.DefaultInfo{Name: "ann"}
	local := func(meta, requested string) error {
		_, err := post(contextFor(t, nil, "a"), NewLocalSubjectAccessReview(annAuthorizer), &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: meta}, Spec: authorizationv1.SubjectAccessReviewSpec{User: "ann", ResourceAttributes: pods(requested)},
		})
		return err
	}
	if err := local("a", "a"); err != nil {
		t.Errorf("matching namespaces: got %v, want no error", err)
	}
	if err := local("a", "b"); code(err) != 422 {
		t.Errorf("another namespace in spec: got %v, want 422", err)
	}
	if err := local("b", "b"); code(err) != 400 {
		t.Errorf("another namespace than the request's: got %v, want 400", err)
	}
	self := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: pods("a")}}
	out, err := post(contextFor(t, ann, ""), NewSelfSubjectAccessReview(annAuthorizer), self)
	if err != nil || !out.(*authorizationv1.SelfSubjectAccessReview).Status.Allowed {
		t.Errorf("SelfSubjectAccessReview of ann: got %v, %v, want allowed", out, err)
	}
	if _, err := post(contextFor(t, nil, ""), NewSelfSubjectAccessReview(annAuthorizer), self); code(err) != 400 {
		t.Errorf("SelfSubjectAccessReview without a user: got %v, want 400", err)
	}
	review, err := post(contextFor(t, &user.DefaultInfo{Name: "ann", Extra: map[string][]string{"k": {"v"}}}, ""), NewSelfSubjectReview(time.Now), &authenticationv1.SelfSubjectReview{})
	if err != nil {
		t.Fatal(err)
	}
	if got := review.(*authenticationv1.SelfSubjectReview).Status.UserInfo; got.Username != "ann" || got.Extra["k"][0] != "v" {
		t.Errorf("got user info %+v, want ann with extra k=v", got)
	}
}

func TestTokenReviewAuthenticatesToken(t *testing.T) {
	authenticate := authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		audiences, _ := authenticator.AudiencesFrom(ctx)
		switch token {
		case "valid":
			return &authenticator.Response{User: &user.DefaultInfo{Name: "ann"}, Audiences: audiences}, true, nil
		case "expired":
			return nil, false, errors.New("expired")
		}
		return nil, false, nil
	})
	review := func(token string, audiences ...string) (authenticationv1.TokenReviewStatus, error) {
		out, err := post(contextFor(t, nil, ""), NewTokenReview(authenticate, []string{"api"}), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences},
		})
		if err != nil {
			return authenticationv1.TokenReviewStatus{}, err
		}
		return out.(*authenticationv1.TokenReview).Status, nil
	}
	if s, err := review("valid"); err != nil || !s.Authenticated || s.User.Username != "ann" || s.Audiences[0] != "api" {
		t.Errorf("valid token: got %+v, %v, want ann for audience api", s, err)
	}
	if s, err := review("valid", "vault"); err != nil || s.Audiences[0] != "vault" {
		t.Errorf("valid token for vault: got %+v, %v, want audience vault", s, err)
	}
	if s, err := review("expired"); err != nil || s.Authenticated || s.Error != "expired" {
		t.Errorf("expired token: got %+v, %v, want error expired", s, err)
	}
	if s, err := review("unknown"); err != nil || s.Authenticated || s.Error != "invalid bearer token" {
		t.Errorf("unknown token: got %+v, %v, want error invalid bearer token", s, err)
	}
	if _, err := review(""); code(err) != 400 {
		t.Errorf("empty token: got %v, want 400", err)
	}
}

func TestFieldSelectorsReachTheAuthorizer(t *testing.T) {
	res := &authorizationv1.ResourceAttributes{FieldSelector: &authorizationv1.FieldSelectorAttributes{Requirements: []metav1.FieldSelectorRequirement{
		{Key: "spec.nodeName", Operator: metav1.FieldSelectorOpIn, Values: []string{"n1"}},
		{Key: "x", Operator: metav1.FieldSelectorOpExists},
	}}}
	got, err := attributes(nil, res, nil).GetFieldSelector()
	if len(got) != 1 || got[0].Field != "spec.nodeName" || got[0].Value != "n1" || err == nil {
		t.Errorf("got requirements %v, error %v; want one requirement, and an error for the unsupported one", got, err)
	}
}
