package tokens

import (
	"context"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

func TestTokenRequestIsValidated(t *testing.T) {
	seconds := func(s int64) *int64 { return &s }
	pod := func(name string, uid types.UID) *authenticationv1.BoundObjectReference {
		return &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: name, UID: uid}
	}
	for name, tc := range map[string]struct {
		account  string // "" means web
		meta     metav1.ObjectMeta
		spec     authenticationv1.TokenRequestSpec
		lifetime time.Duration
		code     int32 // 0 means success
	}{
		"defaults":                       {lifetime: time.Hour},
		"ten minutes":                    {spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: seconds(600)}, lifetime: 10 * time.Minute},
		"too short":                      {spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: seconds(599)}, code: 422},
		"too long":                       {spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: seconds(1<<32 + 1)}, code: 422},
		"bound to a pod":                 {spec: authenticationv1.TokenRequestSpec{BoundObjectRef: pod("p", "2")}, lifetime: time.Hour},
		"recreated pod":                  {spec: authenticationv1.TokenRequestSpec{BoundObjectRef: pod("p", "9")}, code: 409},
		"unknown pod":                    {spec: authenticationv1.TokenRequestSpec{BoundObjectRef: pod("q", "")}, code: 404},
		"pod of another account":         {account: "other", spec: authenticationv1.TokenRequestSpec{BoundObjectRef: pod("p", "")}, code: 400},
		"bound to an unsupported object": {spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Job", APIVersion: "batch/v1", Name: "j"}}, code: 400},
		"unknown account":                {account: "missing", code: 404},
		"another name":                   {meta: metav1.ObjectMeta{Name: "db"}, code: 422},
		"another namespace":              {meta: metav1.ObjectMeta{Namespace: "b"}, code: 422},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.accounts["a/other"] = f.accounts["a/web"].DeepCopy()
			f.accounts["a/other"].Name = "other"
			account := tc.account
			if account == "" {
				account = "web"
			}
			ctx := genericapirequest.WithNamespace(t.Context(), "a")
			in := &authenticationv1.TokenRequest{ObjectMeta: tc.meta, Spec: tc.spec}
			out, err := NewRequestREST(f.issuer, f.store, []string{DefaultIssuer}).Create(ctx, account, in, nil, nil)
			if tc.code != 0 {
				if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != tc.code {
					t.Errorf("got error %v, want code %d", err, tc.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := out.(*authenticationv1.TokenRequest)
			if want := noon.Add(tc.lifetime); !got.Status.ExpirationTimestamp.Time.Equal(want) {
				t.Errorf("got expiration %v, want %v", got.Status.ExpirationTimestamp, want)
			}
			if _, ok, err := f.verifier().AuthenticateToken(t.Context(), got.Status.Token); !ok {
				t.Errorf("authentication with the token: got error %v, want none", err)
			}
			if in.Status.Token != "" {
				t.Error("got a token in the request object, want no change")
			}
		})
	}
}

// TestAdmissionGetsRequestedAudiences checks that the default audience is set after admission, because NodeRestriction
// checks whether the request has an audience.
func TestAdmissionGetsRequestedAudiences(t *testing.T) {
	f := newFixture(t)
	var admitted *authenticationv1.TokenRequest
	out, err := NewRequestREST(f.issuer, f.store, []string{DefaultIssuer}).Create(genericapirequest.WithNamespace(t.Context(), "a"), "web", &authenticationv1.TokenRequest{},
		func(_ context.Context, obj runtime.Object) error {
			admitted = obj.(*authenticationv1.TokenRequest)
			return nil
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := out.(*authenticationv1.TokenRequest).Spec.Audiences; admitted == nil || len(admitted.Spec.Audiences) != 0 || !slices.Equal(got, []string{DefaultIssuer}) {
		t.Errorf("got request %+v in admission and audiences %v in the token, want the default audience after admission only", admitted, got)
	}
}
