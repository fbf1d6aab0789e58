package nodeapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metrics "k8s.io/metrics/pkg/client/clientset/versioned"

	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

// eventually calls f until it succeeds, for at most 30 seconds, because the caches of the API server are
// updated with a delay.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// testUsage checks the metrics API with the requests of kubectl top.
func (c *testCluster) testUsage(t *testing.T) {
	client, err := metrics.NewForConfig(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := client.MetricsV1beta1().NodeMetricses().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	usage := map[string]string{}
	for _, n := range nodes.Items { // s2 has no metrics and is omitted
		usage[n.Name] = formatUsage(n.Usage)
	}
	if fmt.Sprint(usage) != "map[n1:250m 64Mi s1:1 1Gi]" {
		t.Errorf("got usage of nodes %v, want n1 and s1", usage)
	}
	if single, err := client.MetricsV1beta1().NodeMetricses().List(t.Context(), metav1.ListOptions{LabelSelector: "name=s1"}); err != nil || len(single.Items) != 1 {
		t.Errorf("usage of nodes by label: got %v, %v, want s1", single, err)
	}
	pods, err := client.MetricsV1beta1().PodMetricses("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	usage = map[string]string{}
	for _, p := range pods.Items {
		usage[p.Namespace+"/"+p.Name+"/"+p.Containers[0].Name] = formatUsage(p.Containers[0].Usage)
	}
	if fmt.Sprint(usage) != "map[default/simulated/main:1 1Gi default/web/main:250m 64Mi]" {
		t.Errorf("got usage of pods %v, want simulated and web", usage)
	}
	single, err := client.MetricsV1beta1().PodMetricses("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || single.Timestamp.IsZero() || single.Window.Duration <= 0 {
		t.Errorf("usage of one pod: got %+v, %v, want a timestamp and a window", single, err)
	}
	if _, err := client.MetricsV1beta1().NodeMetricses().Get(t.Context(), "s2", metav1.GetOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("usage of a node without metrics: got error %v, want ServiceUnavailable", err)
	}
	if _, err := client.MetricsV1beta1().NodeMetricses().Get(t.Context(), "missing", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("usage of a missing node: got error %v, want NotFound", err)
	}
	var table metav1.Table
	err = c.client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/nodes").SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(t.Context()).Into(&table)
	if err != nil || len(table.Rows) != 2 || fmt.Sprint(table.Rows[0].Cells[:3]) != "[n1 250m 64Mi]" {
		t.Errorf("usage of nodes as a table: got %v, %v, want n1 and s1", table.Rows, err)
	}
}

func formatUsage(l corev1.ResourceList) string { return l.Cpu().String() + " " + l.Memory().String() }

// testUntrustedPeers checks clients that connect to an agent directly, and agents with the wrong identity.
func (c *testCluster) testUntrustedPeers(t *testing.T, n *server.Node) {
	address := c.agent(pki.Node("n1"), n)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.server.Authority().CAPEM())
	get := func(path string, id *pki.Identity, token string) int {
		config := &tls.Config{InsecureSkipVerify: true}
		if id != nil {
			certPEM, keyPEM, err := c.server.Authority().ClientPEM(*id)
			if err != nil {
				t.Fatal(err)
			}
			cert, err := tls.X509KeyPair(certPEM, keyPEM)
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{cert}
		}
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://%s%s", address, path), nil)
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
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	token := c.createServiceAccount(t, "scraper")
	for path, want := range map[string]int{"/metrics/resource": 200, "/stats/summary": 403, "/containerLogs/default/web/main": 403} {
		if got := get(path, nil, token); got != want {
			t.Errorf("a service account at %s: got code %d, want %d", path, got, want)
		}
	}
	admin, apiServer, otherNode, scheduler := pki.Admin(), pki.KubeletClient(), pki.Node("n2"), pki.Scheduler()
	for name, tc := range map[string]struct {
		id    *pki.Identity
		token string
		want  int
	}{
		"anonymous": {nil, "", 401}, "an invalid token": {nil, "no.such.token", 401}, "another node": {&otherNode, "", 403},
		"the scheduler": {&scheduler, "", 403}, "the admin": {&admin, "", 200}, "the API server": {&apiServer, "", 200},
	} {
		for _, path := range []string{"/pods", "/stats/summary", "/healthz", "/containerLogs/default/web/main"} {
			if got := get(path, tc.id, tc.token); got != tc.want {
				t.Errorf("%s at %s: got code %d, want %d", name, path, got, tc.want)
			}
		}
	}
	c.node("n9", address, nil)
	c.checkRefused(t, "n9", `the certificate of the node agent is for "system:node:n1", want "system:node:n9"`)
	c.node("n8", c.agent(pki.Scheduler(), n), nil)
	c.checkRefused(t, "n8", "the node agent uses a self-signed certificate")
	c.node("n7", nil, nil)
	c.checkRefused(t, "n7", `node "n7" has no node agent endpoint`)
	c.node("n6", nil, map[string]string{v1alpha1.AgentURLAnnotation: "http://" + address.String()})
	c.checkRefused(t, "n6", "must be https://HOST:PORT or https://HOST:PORT/nodes/n6")
	c.node("n5", nil, map[string]string{v1alpha1.AgentURLAnnotation: fmt.Sprintf("https://%s/nodes/n5", address)})
	c.checkRefused(t, "n5", `the certificate of the node agent is for "system:node:n1", want "system:berth:simulated-nodes"`)
	c.node("n4", &net.TCPAddr{Port: 1}, nil)
	c.checkRefused(t, "n4", "connection refused")
}

// createServiceAccount creates a service account that may read node metrics, and returns a token.
func (c *testCluster) createServiceAccount(t *testing.T, name string) string {
	t.Helper()
	accounts := c.client.CoreV1().ServiceAccounts("default")
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.grant(t, name, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: name}, "nodes/metrics")
	// An agent caches decisions, so call it only after the API server has the permission.
	eventually(t, func() error {
		review, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:default:" + name, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Subresource: "metrics"}}}, metav1.CreateOptions{})
		if err == nil && !review.Status.Allowed {
			err = errors.New("the service account may not get nodes/metrics yet")
		}
		return err
	})
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// grant permits a subject to get resources of the core group.
func (c *testCluster) grant(t *testing.T, name string, subject rbacv1.Subject, resources ...string) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: resources}}}
	if _, err := c.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// checkRefused checks that the API server rejects requests to the agent of a node, with the reason.
func (c *testCluster) checkRefused(t *testing.T, node, reason string) {
	t.Helper()
	text, err := c.getRaw("", "/api/v1/nodes/"+node+"/proxy/healthz")
	if err == nil || !strings.Contains(text+err.Error(), reason) {
		t.Errorf("node %s: got %q, %v, want an error with %q", node, text, err, reason)
	}
}

func (c *testCluster) testSimulatedNode(t *testing.T) {
	const want = `pod "simulated" on node "s1" is simulated: it has no logs`
	if _, err := c.client.CoreV1().Pods("default").GetLogs("simulated", &corev1.PodLogOptions{}).Stream(t.Context()); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want) {
		t.Errorf("logs of a simulated pod: got error %v, want %q", err, want)
	}
	c.pod("missing", "s1", "main")
	if _, err := c.client.CoreV1().Pods("default").GetLogs("missing", &corev1.PodLogOptions{}).Stream(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("logs of a pod that its node does not have: got error %v, want NotFound", err)
	}
}
