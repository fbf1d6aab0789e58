package tenancy

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

// userConfig returns a configuration for connections over the network with a user's client certificate.
func (c cluster) userConfig(id pki.Identity) *rest.Config {
	c.t.Helper()
	cert, key, err := c.Authority().ClientPEM(id)
	if err != nil {
		c.t.Fatal(err)
	}
	return &rest.Config{Host: "https://" + c.Address(), QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: c.Authority().CAPEM(), CertData: cert, KeyData: key}}
}

// openSlowPosts sends n access reviews with bodies that never end, each on a separate connection. It returns
// when the server has read their headers.
func (c cluster) openSlowPosts(config *rest.Config, n int) {
	c.t.Helper()
	var sent, ended sync.WaitGroup
	c.t.Cleanup(ended.Wait) // runs after the cleanups below, which end the bodies
	for range n {
		tlsConfig, err := rest.TLSConfigFor(config)
		if err != nil {
			c.t.Fatal(err)
		}
		body, writer := io.Pipe()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig, DisableKeepAlives: true}}
		sent.Add(1)
		ended.Go(func() {
			resp, err := client.Post(config.Host+"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", body)
			if err == nil {
				resp.Body.Close()
			}
		})
		go func() {
			defer sent.Done()
			// The server reads the header before the client can write more than its buffer.
			_, _ = writer.Write([]byte(`{"apiVersion":` + strings.Repeat(" ", 32<<10)))
		}()
		c.t.Cleanup(func() { writer.Close() })
	}
	sent.Wait()
}

// TestSlowRequestsDoNotBlockOtherUsers checks that nodes renew their leases and other users get responses. Meanwhile, a
// user without roles has more slow requests than the server has seats.
func TestSlowRequestsDoNotBlockOtherUsers(t *testing.T) {
	const seats, slow = 10, 100
	c := newCluster(t, func(o *apiserver.Options) { o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight = seats, seats })
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "joe"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "joe"}}}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node, err := kubernetes.NewForConfig(c.userConfig(pki.Node("n1")))
	if err != nil {
		t.Fatal(err)
	}
	joe, err := kubernetes.NewForConfig(c.userConfig(pki.Identity{Name: "joe"}))
	if err != nil {
		t.Fatal(err)
	}
	c.waitUntil(func() string { // until the authorizer observes the binding
		if _, err := joe.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	c.openSlowPosts(c.userConfig(pki.Identity{Name: "system:serviceaccount:default:default", Groups: []string{"system:serviceaccounts"}}), slow)
	lease, err := node.CoordinationV1().Leases("kube-node-lease").Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating the lease of a node: %v", err)
	}
	for i := range 20 {
		if lease, err = node.CoordinationV1().Leases("kube-node-lease").Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
			t.Fatalf("renewing the lease of a node: %v", err)
		}
		if _, err := joe.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", i)}}, metav1.CreateOptions{}); err != nil {
			t.Fatalf("creating an object as another user: %v", err)
		}
	}
}

// TestPriorityLevelsOfComponents checks that Berth's components have the priority levels of their equivalents
// in Kubernetes.
func TestPriorityLevelsOfComponents(t *testing.T) {
	c := newCluster(t)
	levels := map[string]string{} // by UID
	list, err := c.client.FlowcontrolV1().PriorityLevelConfigurations().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list.Items {
		levels[string(p.UID)] = p.Name
	}
	for _, tc := range []struct {
		id         pki.Identity
		path, want string
	}{
		{pki.Node("n1"), "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", "node-high"},
		{pki.Node("n1"), "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1", "system"},
		{pki.SimulatedNodes(), "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1", "node-high"},
		{pki.SimulatedNodes(), "/api/v1/pods", "system"},
		{pki.ControllerManager(), "/api/v1/pods", "workload-high"},
		{pki.Scheduler(), "/api/v1/pods", "workload-high"},
		{pki.Component("descheduler"), "/api/v1/pods", "workload-high"},
		{pki.Admin(), "/api/v1/pods", "exempt"},
	} {
		transport, err := rest.TransportFor(c.userConfig(tc.id))
		if err != nil {
			t.Fatal(err)
		}
		c.waitUntil(func() string { // until the filter observes the configuration
			resp, err := (&http.Client{Transport: transport}).Get("https://" + c.Address() + tc.path)
			if err != nil {
				return err.Error()
			}
			resp.Body.Close()
			if got := levels[resp.Header.Get("X-Kubernetes-PF-PriorityLevel-UID")]; got != tc.want {
				return fmt.Sprintf("%s, %s: got status %d and priority level %q, want %q", tc.id.Name, tc.path, resp.StatusCode, got, tc.want)
			}
			return ""
		})
	}
}
