package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// apiClient sends plain HTTP requests to a server with a credential.
type apiClient struct {
	http  *http.Client
	base  string // URL of the server
	token string // value of the header Authorization
}

// apiResponse is a response of a server. The message is that of a Status, or the body.
type apiResponse struct {
	code    int
	message string
	header  http.Header
}

func (c apiClient) call(ctx context.Context, method, path string, header map[string]string, body string) (apiResponse, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return apiResponse{}, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", c.token)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return apiResponse{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return apiResponse{}, err
	}
	var status struct{ Kind, Message string }
	if json.Unmarshal(data, &status) == nil && status.Kind == "Status" {
		return apiResponse{resp.StatusCode, status.Message, resp.Header}, nil
	}
	return apiResponse{resp.StatusCode, string(data), resp.Header}, nil
}

// apiClients are clients of one server with different credentials. The server has a pod on n1 and on n2, a secret that
// each of them uses, and service accounts with few permissions.
type apiClients struct {
	admin, anonymous, otherCA, expired, node, viewer, roleMaker apiClient
	forged, unsigned, otherAudience                             apiClient
}

const apiClientObjects = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: viewer}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: role-maker}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: viewer}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: viewer, namespace: default}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: role-maker}, rules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings], verbs: [create, get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: role-maker}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: role-maker}, subjects: [{kind: ServiceAccount, name: role-maker, namespace: default}]}
---
{apiVersion: v1, kind: Secret, metadata: {name: secret-n1}, stringData: {a: b}}
---
{apiVersion: v1, kind: Secret, metadata: {name: secret-n2}, stringData: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: existing}, data: {a: b}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}}
---
{apiVersion: v1, kind: Pod, metadata: {name: on-n1}, spec: {nodeName: n1, containers: [{name: c, image: "x:1", envFrom: [{secretRef: {name: secret-n1}}]}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: on-n2}, spec: {nodeName: n2, containers: [{name: c, image: "x:1", envFrom: [{secretRef: {name: secret-n2}}]}]}}
`

func newAPIClients(t *testing.T, c *cluster) *apiClients {
	t.Helper()
	c.start("controller", "--kubeconfig", c.credential("controller", "--for", "controller")).waitForOutput("Controllers at")
	c.mustKubectl("wait", "--for=create", "serviceaccount/default", "--timeout=180s")
	c.mustKubectl("apply", "-f", c.write("clients.yaml", apiClientObjects))
	config := c.config()
	clientOf := func(cfg *rest.Config) apiClient {
		cert, err := tls.X509KeyPair(cfg.CertData, cfg.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		return newAPIClient(config, "", cert)
	}
	node, err := clientcmd.BuildConfigFromFlags("", c.credential("n1", "--node", "n1"))
	if err != nil {
		t.Fatal(err)
	}
	token := func(account string, args ...string) apiClient {
		return newAPIClient(config, "Bearer "+strings.TrimSpace(c.mustKubectl(append([]string{"create", "token", account}, args...)...)))
	}
	s := &apiClients{admin: clientOf(config), anonymous: newAPIClient(config, ""), node: clientOf(node),
		viewer: token("viewer"), roleMaker: token("role-maker"), otherAudience: token("viewer", "--audience", "elsewhere"),
		expired: newAPIClient(config, "", clientCertificate(t, c, true)), otherCA: newAPIClient(config, "", clientCertificate(t, c, false))}
	parts := strings.Split(strings.TrimPrefix(s.viewer.token, "Bearer "), ".")
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims = bytes.ReplaceAll(claims, []byte("viewer"), []byte("role-maker"))
	parts[1] = base64.RawURLEncoding.EncodeToString(claims)
	s.forged = newAPIClient(config, "Bearer "+strings.Join(parts, "."))
	parts[0] = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	s.unsigned = newAPIClient(config, "Bearer "+parts[0]+"."+parts[1]+".")
	return s
}

func newAPIClient(config *rest.Config, token string, certs ...tls.Certificate) apiClient {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	return apiClient{base: config.Host, token: token, http: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: certs, NextProtos: []string{"http/1.1"}},
	}}}
}

// clientCertificate returns a certificate of an administrator: of the cluster's authority
// but expired, or valid but of another authority with the same name.
func clientCertificate(t *testing.T, c *cluster, expired bool) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority, err := tls.LoadX509KeyPair(c.path("data/pki/ca.crt"), c.path("data/pki/ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := authority.Leaf, authority.PrivateKey
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if expired {
		template.NotAfter = time.Now().Add(-time.Hour)
	} else {
		other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer = other
		parent = &x509.Certificate{Subject: authority.Leaf.Subject, PublicKey: other.Public(), SubjectKeyId: authority.Leaf.SubjectKeyId}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func checkServerResponds(t *testing.T, c apiClient) {
	t.Helper()
	for _, path := range []string{"/livez", "/readyz"} {
		a, err := c.call(t.Context(), http.MethodGet, path, nil, "")
		if err != nil || a.code != http.StatusOK {
			t.Fatalf("%s: got %+v, %v, want code 200", path, a, err)
		}
	}
}
