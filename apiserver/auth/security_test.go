package auth

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/auth/tokens"
)

// testServer is a TLS server that responds with the authenticated user, or 401.
type testServer struct {
	*Security
	url    string
	ca     *pki.Authority
	client *fake.Clientset
}

func newTestServer(t *testing.T) *testServer {
	t.Helper()
	dir := t.TempDir()
	ca, err := pki.Open(filepath.Join(dir, "pki"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	tokenFile := filepath.Join(dir, "tokens.csv")
	if err := os.WriteFile(tokenFile, []byte("s3cret,carl,7,\"ops,dev\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1"}})
	factory := informers.NewSharedInformerFactory(client, 0)
	security, err := New(Options{CA: ca, Client: client, Informers: factory, TokenFile: tokenFile})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	if err := security.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	certFile, keyFile, err := ca.ServingPair(pki.APIServerAltNames(nil))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resp, ok, err := security.Authenticator.AuthenticateRequest(r)
		if err != nil || !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(resp.User.GetName() + " " + strings.Join(resp.User.GetGroups(), ",")))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	return &testServer{Security: security, url: server.URL, ca: ca, client: client}
}

// authenticate sends a request with an optional bearer token and client certificate. It returns "401" or the
// authenticated user.
func (s *testServer) authenticate(t *testing.T, token string, cert *tls.Certificate) string {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(s.ca.CAPEM())
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return "401"
	}
	body := make([]byte, 256)
	n, _ := resp.Body.Read(body)
	return string(body[:n])
}

// certificate returns a client certificate of ca for id.
func certificate(t *testing.T, ca *pki.Authority, id pki.Identity) *tls.Certificate {
	t.Helper()
	certPEM, keyPEM, err := ca.ClientPEM(id)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

// token returns a token of the service account a/web.
func (s *testServer) token(t *testing.T) string {
	t.Helper()
	storage := s.Storages()[schema.GroupResource{Resource: "serviceaccounts/token"}].(rest.NamedCreater)
	out, err := storage.Create(genericapirequest.WithNamespace(t.Context(), "a"), "web", &authenticationv1.TokenRequest{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*authenticationv1.TokenRequest).Status.Token
}

func TestCredentialsAreAuthenticated(t *testing.T) {
	s := newTestServer(t)
	otherCA, err := pki.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	otherIssuer, err := tokens.NewIssuer(tokens.DefaultIssuer, otherCA.SigningKey(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	forged, err := otherIssuer.Issue(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "1"}}, tokens.BoundObjects{}, []string{tokens.DefaultIssuer}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		token string
		cert  *tls.Certificate
		want  string
	}{
		"no credentials":            {want: "system:anonymous system:unauthenticated"},
		"admin":                     {cert: certificate(t, s.ca, pki.Admin()), want: "kubernetes-admin system:masters,system:authenticated"},
		"node":                      {cert: certificate(t, s.ca, pki.Node("n1")), want: "system:node:n1 system:nodes,system:authenticated"},
		"certificate of another CA": {cert: certificate(t, otherCA, pki.Admin()), want: "401"},
		"static token":              {token: "s3cret", want: "carl ops,dev,system:authenticated"},
		"unknown token":             {token: "guess", want: "401"},
		"service account token":     {token: s.token(t), want: "system:serviceaccount:a:web system:serviceaccounts,system:serviceaccounts:a,system:authenticated"},
		"forged token":              {token: forged.Token, want: "401"},
		"certificate takes precedence over token": {token: "guess", cert: certificate(t, s.ca, pki.Scheduler()), want: "system:kube-scheduler system:authenticated"},
	} {
		if got := s.authenticate(t, tc.token, tc.cert); got != tc.want {
			t.Errorf("%s: got authenticated as %q, want %q", name, got, tc.want)
		}
	}
}

func TestTokenOfDeletedServiceAccountIsRejected(t *testing.T) {
	s := newTestServer(t)
	token := s.token(t)
	if got := s.authenticate(t, token, nil); got == "401" {
		t.Fatalf("new token: got %s, want the service account", got)
	}
	if err := s.client.CoreV1().ServiceAccounts("a").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); s.authenticate(t, token, nil) != "401"; {
		if time.Now().After(deadline) {
			t.Fatal("token of a deleted account: still accepted after 10 s, want 401")
		}
	}
}

func TestHealthIsPublicBeforeRolesSync(t *testing.T) {
	ca, err := pki.Open(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	security, err := New(Options{CA: ca, Client: client, Informers: informers.NewSharedInformerFactory(client, 0)})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]authorizer.Decision{
		"/livez": authorizer.DecisionAllow, "/version": authorizer.DecisionAllow, "/metrics": authorizer.DecisionNoOpinion, "/api": authorizer.DecisionNoOpinion,
	} {
		got, _, _ := security.Authorizer.Authorize(t.Context(), authorizer.AttributesRecord{User: &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}, Verb: "get", Path: path})
		if got != want {
			t.Errorf("%s: got decision %v, want %v", path, got, want)
		}
	}
}
