package auth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

// testCluster is an API server with TLS, and the client of an administrator.
type testCluster struct {
	*testing.T
	server *apiserver.Server
	admin  kubernetes.Interface
}

func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", t.TempDir()
	o.DisableAdmissionPlugins = []string{"ServiceAccount"} // no controller creates service accounts here
	server, err := apiserver.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	select {
	case <-server.Ready():
	case <-time.After(time.Minute):
		t.Fatal("got no ready server within a minute, want one")
	}
	c := &testCluster{T: t, server: server}
	c.admin = c.client(&rest.Config{}, pki.Admin())
	return c
}

// client returns a client that uses the token of config, or a certificate for id.
func (c *testCluster) client(config *rest.Config, id pki.Identity) kubernetes.Interface {
	c.Helper()
	config.Host = "https://" + c.server.Address()
	config.CAData = c.server.Authority().CAPEM()
	if config.BearerToken == "" {
		var err error
		if config.CertData, config.KeyData, err = c.server.Authority().ClientPEM(id); err != nil {
			c.Fatal(err)
		}
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.Fatal(err)
	}
	return client
}

// must returns a function that returns its value, or fails the test if there is an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// checkStatus checks that err has the status code (0 means success) and contains text.
func (c *testCluster) checkStatus(request string, err error, code int32, text string) {
	c.Helper()
	status, _ := err.(apierrors.APIStatus)
	switch {
	case code == 0 && err != nil:
		c.Errorf("%s: got %v, want success", request, err)
	case code != 0 && (status == nil || status.Status().Code != code || !strings.Contains(err.Error(), text)):
		c.Errorf("%s: got %v, want %d with %q", request, err, code, text)
	}
}

// eventually fails the test if ok does not return true within a minute.
func (c *testCluster) eventually(condition string, ok func() bool) {
	c.Helper()
	if err := wait.PollUntilContextTimeout(c.Context(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return ok(), nil }); err != nil {
		c.Fatalf("got no success within a minute, want: %s", condition)
	}
}

func bindAdmin(namespace string, subject rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "admin-"},
		RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "admin"}, Subjects: []rbacv1.Subject{subject},
	}
}

func TestRBACOverHTTPS(t *testing.T) {
	c := newTestCluster(t)
	ctx := t.Context()
	ann := c.client(&rest.Config{}, pki.Identity{Name: "ann"})
	_, err := ann.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	c.checkStatus("list without a role", err, 403, `pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "default"`)
	must[*rbacv1.RoleBinding](t)(c.admin.RbacV1().RoleBindings("default").Create(ctx, bindAdmin("default", rbacv1.Subject{Kind: "User", Name: "ann"}), metav1.CreateOptions{}))
	c.eventually("ann lists pods", func() bool { _, err := ann.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); return err == nil })
	_, err = ann.CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{})
	c.checkStatus("list in another namespace", err, 403, `in the namespace "kube-system"`)
	_, err = ann.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	c.checkStatus("list of nodes", err, 403, `cannot list resource "nodes" in API group "" at the cluster scope`)

	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}}}}
	_, err = ann.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{})
	c.checkStatus("grant of a permission that ann does not have", err, 403, `is attempting to grant RBAC permissions not currently held:`+"\n"+`{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}`)
	role.Rules[0].Resources = []string{"pods"}
	_, err = ann.RbacV1().Roles("default").Create(ctx, role, metav1.CreateOptions{})
	c.checkStatus("grant of a permission that ann has", err, 0, "")

	review := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}
	rules := must[*authorizationv1.SelfSubjectRulesReview](t)(ann.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, review, metav1.CreateOptions{}))
	if n := len(rules.Status.ResourceRules); n < 20 {
		t.Errorf("got %d resource rules of ann, want at least 20 of ClusterRole admin", n)
	}
}

func TestServiceAccountTokensOverHTTPS(t *testing.T) {
	c := newTestCluster(t)
	ctx := t.Context()
	accounts := c.admin.CoreV1().ServiceAccounts("default")
	must[*corev1.ServiceAccount](t)(accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.CreateOptions{}))
	request := must[*authenticationv1.TokenRequest](t)(accounts.CreateToken(ctx, "web", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
	token := request.Status.Token
	web := c.client(&rest.Config{BearerToken: token}, pki.Identity{})
	whoAmI := func(c kubernetes.Interface) (*authenticationv1.SelfSubjectReview, error) {
		return c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	}
	if got := must[*authenticationv1.SelfSubjectReview](t)(whoAmI(web)).Status.UserInfo.Username; got != "system:serviceaccount:default:web" {
		t.Errorf("user of the token: got %q, want system:serviceaccount:default:web", got)
	}
	_, err := whoAmI(c.client(&rest.Config{BearerToken: token[:len(token)-8] + "AAAAAAAA"}, pki.Identity{}))
	c.checkStatus("request with a forged token", err, 401, "Unauthorized")
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{"vault"}}}
	if s := must[*authenticationv1.TokenReview](t)(c.admin.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})).Status; s.Authenticated {
		t.Error("review for another audience: got authenticated, want not authenticated")
	}
	if err := accounts.Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.eventually("the token of a deleted account is rejected", func() bool { _, err := whoAmI(web); return apierrors.IsUnauthorized(err) })
}

func TestNodeCredentialsOverHTTPS(t *testing.T) {
	c := newTestCluster(t)
	ctx := t.Context()
	for _, name := range []string{"a", "b"} {
		must[*corev1.Secret](t)(c.admin.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
			NodeName: "node-" + name, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}},
		}}
		must[*corev1.Pod](t)(c.admin.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}))
	}
	node := c.client(&rest.Config{}, pki.Node("node-a"))
	secrets, nodes := node.CoreV1().Secrets("default"), node.CoreV1().Nodes()
	c.eventually("a node reads its pod's secret", func() bool { _, err := secrets.Get(ctx, "a", metav1.GetOptions{}); return err == nil })
	_, err := secrets.Get(ctx, "b", metav1.GetOptions{})
	c.checkStatus("secret of another node's pod", err, 403, "no relationship found between node 'node-a' and this object")
	_, err = node.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	c.checkStatus("list of all pods", err, 403, "can only list/watch pods with spec.nodeName field selector")
	pods, err := node.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=node-a"})
	if err != nil || len(pods.Items) != 1 {
		t.Errorf("pods of the node: got %v and error %v, want 1 pod", pods, err)
	}
	_, err = nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-b"}}, metav1.CreateOptions{})
	c.checkStatus("registration of another node", err, 403, `node "node-a" is not allowed to modify node "node-b"`)
	must[*corev1.Node](t)(nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}}, metav1.CreateOptions{}))
	patch := func(body string) error {
		_, err := nodes.Patch(ctx, "node-a", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		return err
	}
	c.checkStatus("change of a taint", patch(`{"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}`), 403, `node "node-a" is not allowed to modify taints`)
	c.checkStatus("change of a restricted label", patch(`{"metadata":{"labels":{"node-restriction.kubernetes.io/x":"y"}}}`), 403, "is not allowed to modify labels")
	c.checkStatus("change of a label", patch(`{"metadata":{"labels":{"disk":"ssd"}}}`), 0, "")
	c.checkStatus("delete of another node's pod", node.CoreV1().Pods("default").Delete(ctx, "b", metav1.DeleteOptions{}), 403, "can only delete pods with spec.nodeName set to itself")
	c.checkStatus("delete of a pod of the node", node.CoreV1().Pods("default").Delete(ctx, "a", metav1.DeleteOptions{}), 0, "")
}
