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

func find[T any](in map[string]T, kind, key string) (T, error) {
	found, ok := in[key]
	if !ok {
		return found, apierrors.NewNotFound(corev1.Resource(kind), key)
	}
	return found, nil
}

func (s *store) ServiceAccount(_ context.Context, ns, name string) (*corev1.ServiceAccount, error) {
	return find(s.accounts, "serviceaccounts", ns+"/"+name)
}
func (s *store) Pod(_ context.Context, ns, name string) (*corev1.Pod, error) {
	return find(s.pods, "pods", ns+"/"+name)
}
func (s *store) Secret(_ context.Context, ns, name string) (*corev1.Secret, error) {
	return find(s.secrets, "secrets", ns+"/"+name)
}
func (s *store) Node(_ context.Context, name string) (*corev1.Node, error) {
	return find(s.nodes, "nodes", name)
}

func named(name, uid string) metav1.ObjectMeta {
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
	w := &fixture{now: noon, key: key, store: &store{
		accounts: map[string]*corev1.ServiceAccount{"a/web": {ObjectMeta: named("web", "1")}},
		pods: map[string]*corev1.Pod{"a/p": {
			ObjectMeta: named("p", "2"), Spec: corev1.PodSpec{ServiceAccountName: "web", NodeName: "n"},
		}},
		secrets: map[string]*corev1.Secret{"a/s": {ObjectMeta: named("s", "3")}},
		nodes:   map[string]*corev1.Node{"n": {ObjectMeta: named("n", "4")}},
	}}
	if w.issuer, err = NewIssuer(DefaultIssuer, key, func() time.Time { return w.now }); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *fixture) verifier() *Verifier {
	return NewVerifier(DefaultIssuer, &w.key.PublicKey, []string{DefaultIssuer}, w.store, func() time.Time { return w.now })
}

func (w *fixture) issue(t *testing.T, b BoundObjects, audiences ...string) string {
	t.Helper()
	if len(audiences) == 0 {
		audiences = []string{DefaultIssuer}
	}
	issued, err := w.issuer.Issue(w.accounts["a/web"], b, audiences, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return issued.Token
}

func TestTokenAuthenticatesServiceAccount(t *testing.T) {
	w := newFixture(t)
	resp, ok, err := w.verifier().AuthenticateToken(t.Context(), w.issue(t, BoundObjects{Pod: w.pods["a/p"], NodeOfPod: w.nodes["n"]}))
	if err != nil || !ok {
		t.Fatalf("ok %v, error %v", ok, err)
	}
	if got, want := resp.User.GetName(), "system:serviceaccount:a:web"; got != want {
		t.Errorf("user %q, want %q", got, want)
	}
	if got, want := strings.Join(resp.User.GetGroups(), " "), "system:serviceaccounts system:serviceaccounts:a"; got != want {
		t.Errorf("groups %q, want %q", got, want)
	}
	extra := resp.User.GetExtra()
	for key, want := range map[string]string{
		"authentication.kubernetes.io/pod-name": "p", "authentication.kubernetes.io/pod-uid": "2",
		"authentication.kubernetes.io/node-name": "n", "authentication.kubernetes.io/node-uid": "4",
	} {
		if got := strings.Join(extra[key], " "); got != want {
			t.Errorf("extra %s is %q, want %q", key, got, want)
		}
	}
}

func TestBoundTokenExpiresWithObject(t *testing.T) {
	past := metav1.NewTime(noon.Add(-2 * time.Minute))
	for name, tc := range map[string]struct {
		bound  func(*fixture) BoundObjects
		change func(*fixture)
		want   string // part of the error; "" means still valid
	}{
		"unchanged":            {change: func(*fixture) {}},
		"account deleted":      {change: func(w *fixture) { delete(w.accounts, "a/web") }, want: "not found"},
		"account recreated":    {change: func(w *fixture) { w.accounts["a/web"].UID = "9" }, want: "has uid 9"},
		"account long deleted": {change: func(w *fixture) { w.accounts["a/web"].DeletionTimestamp = &past }, want: "has been deleted"},
		"pod deleted": {
			bound:  func(w *fixture) BoundObjects { return BoundObjects{Pod: w.pods["a/p"]} },
			change: func(w *fixture) { delete(w.pods, "a/p") }, want: "not found",
		},
		"pod recreated": {
			bound:  func(w *fixture) BoundObjects { return BoundObjects{Pod: w.pods["a/p"].DeepCopy()} },
			change: func(w *fixture) { w.pods["a/p"].UID = "9" }, want: "has uid 9",
		},
		"pod's node deleted": {
			bound:  func(w *fixture) BoundObjects { return BoundObjects{Pod: w.pods["a/p"], NodeOfPod: w.nodes["n"]} },
			change: func(w *fixture) { delete(w.nodes, "n") },
		},
		"secret deleted": {
			bound:  func(w *fixture) BoundObjects { return BoundObjects{Secret: w.secrets["a/s"]} },
			change: func(w *fixture) { delete(w.secrets, "a/s") }, want: "not found",
		},
		"node deleted": {
			bound:  func(w *fixture) BoundObjects { return BoundObjects{Node: w.nodes["n"]} },
			change: func(w *fixture) { delete(w.nodes, "n") }, want: "not found",
		},
		"expired":      {change: func(w *fixture) { w.now = noon.Add(time.Hour + leeway + time.Second) }, want: "has expired"},
		"just expired": {change: func(w *fixture) { w.now = noon.Add(time.Hour + leeway/2) }},
		"not yet":      {change: func(w *fixture) { w.now = noon.Add(-time.Hour) }, want: "not valid yet"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			var b BoundObjects
			if tc.bound != nil {
				b = tc.bound(w)
			}
			token := w.issue(t, b)
			tc.change(w)
			_, ok, err := w.verifier().AuthenticateToken(t.Context(), token)
			if ok != (tc.want == "") || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("ok %v, error %v, want %q", ok, err, tc.want)
			}
		})
	}
}

// forge signs the claims with another key or method.
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

// swapPayload returns token with the payload of other.
func swapPayload(token, other string) string {
	parts := strings.Split(token, ".")
	parts[1] = strings.Split(other, ".")[1]
	return strings.Join(parts, ".")
}

func TestForgedTokensAreRejected(t *testing.T) {
	w := newFixture(t)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	as := func(c *claims) {}
	good := w.issue(t, BoundObjects{})
	for name, tc := range map[string]struct {
		token string
		ours  bool // an error; otherwise the token is unknown
	}{
		"another key":         {forge(t, jwt.SigningMethodES256, other, as), true},
		"no signature":        {forge(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, as), true},
		"key as a secret":     {forge(t, jwt.SigningMethodHS256, []byte(w.issuer.keyID), as), true},
		"changed payload":     {swapPayload(good, forge(t, jwt.SigningMethodES256, other, as)), true},
		"truncated signature": {good[:len(good)-4], true},
		"no expiry":           {forge(t, jwt.SigningMethodES256, w.key, func(c *claims) { c.ExpiresAt = nil }), true},
		"other subject":       {forge(t, jwt.SigningMethodES256, w.key, func(c *claims) { c.Subject = "system:serviceaccount:a:admin" }), true},
		"no account":          {forge(t, jwt.SigningMethodES256, w.key, func(c *claims) { c.Kubernetes = kubernetesClaims{} }), true},
		"another issuer":      {forge(t, jwt.SigningMethodES256, w.key, func(c *claims) { c.Issuer = "https://elsewhere" }), false},
		"another audience":    {w.issue(t, BoundObjects{}, "vault"), true},
		"not a token":         {"abc", false},
		"empty":               {"", false},
		"three dots":          {"...", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, ok, err := w.verifier().AuthenticateToken(t.Context(), tc.token)
			if ok || (err != nil) != tc.ours {
				t.Errorf("ok %v, error %v, want an error: %v", ok, err, tc.ours)
			}
		})
	}
}

func TestRequestedAudienceIsChecked(t *testing.T) {
	w := newFixture(t)
	ctx := authenticator.WithAudiences(t.Context(), authenticator.Audiences{"vault", "db"})
	resp, ok, err := w.verifier().AuthenticateToken(ctx, w.issue(t, BoundObjects{}, "vault", DefaultIssuer))
	if err != nil || !ok || len(resp.Audiences) != 1 || resp.Audiences[0] != "vault" {
		t.Errorf("response %v, ok %v, error %v; want audience vault", resp, ok, err)
	}
}
