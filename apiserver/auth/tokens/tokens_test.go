package tokens

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// store is a Getter backed by maps.
type store struct {
	accounts map[string]*corev1.ServiceAccount
	pods     map[string]*corev1.Pod
	secrets  map[string]*corev1.Secret
	nodes    map[string]*corev1.Node
}

// get returns the object with the key, or a NotFound error.
func get[T any](objects map[string]T, kind, key string) (T, error) {
	obj, ok := objects[key]
	if !ok {
		return obj, apierrors.NewNotFound(corev1.Resource(kind), key)
	}
	return obj, nil
}

func (s *store) ServiceAccount(_ context.Context, ns, name string) (*corev1.ServiceAccount, error) {
	return get(s.accounts, "serviceaccounts", ns+"/"+name)
}
func (s *store) Pod(_ context.Context, ns, name string) (*corev1.Pod, error) {
	return get(s.pods, "pods", ns+"/"+name)
}
func (s *store) Secret(_ context.Context, ns, name string) (*corev1.Secret, error) {
	return get(s.secrets, "secrets", ns+"/"+name)
}
func (s *store) Node(_ context.Context, name string) (*corev1.Node, error) {
	return get(s.nodes, "nodes", name)
}

func objectMeta(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(uid)}
}

// fixture is an issuer and a verifier that share a key and a store.
type fixture struct {
	*store
	issuer *Issuer
	now    time.Time
	key    *ecdsa.PrivateKey
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{now: noon, key: key, store: &store{
		accounts: map[string]*corev1.ServiceAccount{"a/web": {ObjectMeta: objectMeta("web", "1")}},
		pods: map[string]*corev1.Pod{"a/p": {
			ObjectMeta: objectMeta("p", "2"), Spec: corev1.PodSpec{ServiceAccountName: "web", NodeName: "n"},
		}},
		secrets: map[string]*corev1.Secret{"a/s": {ObjectMeta: objectMeta("s", "3")}},
		nodes:   map[string]*corev1.Node{"n": {ObjectMeta: objectMeta("n", "4")}},
	}}
	if f.issuer, err = NewIssuer(DefaultIssuer, key, func() time.Time { return f.now }); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) verifier() *Verifier {
	return NewVerifier(DefaultIssuer, &f.key.PublicKey, []string{DefaultIssuer}, f.store, func() time.Time { return f.now })
}

func (f *fixture) issue(t *testing.T, b BoundObjects, audiences ...string) string {
	t.Helper()
	if len(audiences) == 0 {
		audiences = []string{DefaultIssuer}
	}
	issued, err := f.issuer.Issue(f.accounts["a/web"], b, audiences, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return issued.Token
}

func TestTokenAuthenticatesServiceAccount(t *testing.T) {
	f := newFixture(t)
	resp, ok, err := f.verifier().AuthenticateToken(t.Context(), f.issue(t, BoundObjects{Pod: f.pods["a/p"], NodeOfPod: f.nodes["n"]}))
	if err != nil || !ok {
		t.Fatalf("got ok %v, error %v, want true and no error", ok, err)
	}
	if got, want := resp.User.GetName(), "system:serviceaccount:a:web"; got != want {
		t.Errorf("got user %q, want %q", got, want)
	}
	if got, want := strings.Join(resp.User.GetGroups(), " "), "system:serviceaccounts system:serviceaccounts:a"; got != want {
		t.Errorf("got groups %q, want %q", got, want)
	}
	extra := resp.User.GetExtra()
	for key, want := range map[string]string{
		"authentication.kubernetes.io/pod-name": "p", "authentication.kubernetes.io/pod-uid": "2",
		"authentication.kubernetes.io/node-name": "n", "authentication.kubernetes.io/node-uid": "4",
	} {
		if got := strings.Join(extra[key], " "); got != want {
			t.Errorf("extra %s: got %q, want %q", key, got, want)
		}
	}
}

func TestTokenIsInvalidAfterChange(t *testing.T) {
	past := metav1.NewTime(noon.Add(-2 * time.Minute))
	for name, tc := range map[string]struct {
		bound  func(*fixture) BoundObjects
		change func(*fixture)
		want   string // part of the error; "" means still valid
	}{
		"unchanged":           {change: func(*fixture) {}},
		"account deleted":     {change: func(f *fixture) { delete(f.accounts, "a/web") }, want: "not found"},
		"account recreated":   {change: func(f *fixture) { f.accounts["a/web"].UID = "9" }, want: "has uid 9"},
		"account terminating": {change: func(f *fixture) { f.accounts["a/web"].DeletionTimestamp = &past }, want: "has been deleted"},
		"pod deleted": {
			bound:  func(f *fixture) BoundObjects { return BoundObjects{Pod: f.pods["a/p"]} },
			change: func(f *fixture) { delete(f.pods, "a/p") }, want: "not found",
		},
		"pod recreated": {
			bound:  func(f *fixture) BoundObjects { return BoundObjects{Pod: f.pods["a/p"].DeepCopy()} },
			change: func(f *fixture) { f.pods["a/p"].UID = "9" }, want: "has uid 9",
		},
		"pod's node deleted": {
			bound:  func(f *fixture) BoundObjects { return BoundObjects{Pod: f.pods["a/p"], NodeOfPod: f.nodes["n"]} },
			change: func(f *fixture) { delete(f.nodes, "n") },
		},
		"secret deleted": {
			bound:  func(f *fixture) BoundObjects { return BoundObjects{Secret: f.secrets["a/s"]} },
			change: func(f *fixture) { delete(f.secrets, "a/s") }, want: "not found",
		},
		"node deleted": {
			bound:  func(f *fixture) BoundObjects { return BoundObjects{Node: f.nodes["n"]} },
			change: func(f *fixture) { delete(f.nodes, "n") }, want: "not found",
		},
		"expired":                   {change: func(f *fixture) { f.now = noon.Add(time.Hour + leeway + time.Second) }, want: "has expired"},
		"expired within the leeway": {change: func(f *fixture) { f.now = noon.Add(time.Hour + leeway/2) }},
		"not yet valid":             {change: func(f *fixture) { f.now = noon.Add(-time.Hour) }, want: "not valid yet"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			var b BoundObjects
			if tc.bound != nil {
				b = tc.bound(f)
			}
			token := f.issue(t, b)
			tc.change(f)
			_, ok, err := f.verifier().AuthenticateToken(t.Context(), token)
			if ok != (tc.want == "") || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got ok %v, error %v, want %q", ok, err, tc.want)
			}
		})
	}
}

// forge returns a token for a/web with changed claims, signed with key.
func forge(t *testing.T, method jwt.SigningMethod, key any, change func(*claims)) string {
	t.Helper()
	c := claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: DefaultIssuer, Subject: "system:serviceaccount:a:web", Audience: jwt.ClaimStrings{DefaultIssuer},
			ExpiresAt: jwt.NewNumericDate(noon.Add(time.Hour)),
		},
		Kubernetes: kubernetesClaims{Namespace: "a", ServiceAccount: ref{Name: "web", UID: "1"}},
	}
	change(&c)
	out, err := jwt.NewWithClaims(method, c).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func swapPayload(token, other string) string {
	parts := strings.Split(token, ".")
	parts[1] = strings.Split(other, ".")[1]
	return strings.Join(parts, ".")
}

func TestForgedTokensAreRejected(t *testing.T) {
	f := newFixture(t)
	otherKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	unchanged := func(c *claims) {}
	valid := f.issue(t, BoundObjects{})
	for name, tc := range map[string]struct {
		token    string
		rejected bool // false means that other authenticators may accept it
	}{
		"another key":         {forge(t, jwt.SigningMethodES256, otherKey, unchanged), true},
		"no signature":        {forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, unchanged), true},
		"key as a secret":     {forge(t, jwt.SigningMethodHS256, []byte(f.issuer.keyID), unchanged), true},
		"changed payload":     {swapPayload(valid, forge(t, jwt.SigningMethodES256, otherKey, unchanged)), true},
		"truncated signature": {valid[:len(valid)-4], true},
		"no expiry":           {forge(t, jwt.SigningMethodES256, f.key, func(c *claims) { c.ExpiresAt = nil }), true},
		"other subject":       {forge(t, jwt.SigningMethodES256, f.key, func(c *claims) { c.Subject = "system:serviceaccount:a:admin" }), true},
		"no account":          {forge(t, jwt.SigningMethodES256, f.key, func(c *claims) { c.Kubernetes = kubernetesClaims{} }), true},
		"another issuer":      {forge(t, jwt.SigningMethodES256, f.key, func(c *claims) { c.Issuer = "https://other.example" }), false},
		"another audience":    {f.issue(t, BoundObjects{}, "vault"), true},
		"not a token":         {"abc", false},
		"empty":               {"", false},
		"three dots":          {"...", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := f.verifier().AuthenticateToken(t.Context(), tc.token)
			if ok || (err != nil) != tc.rejected {
				t.Errorf("got ok %v, error %v, want an error: %v", ok, err, tc.rejected)
			}
		})
	}
}

func TestRequestedAudienceIsChecked(t *testing.T) {
	f := newFixture(t)
	ctx := authenticator.WithAudiences(t.Context(), authenticator.Audiences{"vault", "db"})
	resp, ok, err := f.verifier().AuthenticateToken(ctx, f.issue(t, BoundObjects{}, "vault", DefaultIssuer))
	if err != nil || !ok || len(resp.Audiences) != 1 || resp.Audiences[0] != "vault" {
		t.Errorf("got response %v, ok %v, error %v; want audience vault", resp, ok, err)
	}
}
