package rbac

import (
	"context"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/berthproject/berth/apiserver/auth/rbac/policy"
)

func TestBootstrapRestoresMissingObjects(t *testing.T) {
	client := fake.NewClientset()
	roles := client.RbacV1().ClusterRoles()
	update := func(name string, change func(*rbacv1.ClusterRole)) {
		t.Helper()
		r, err := roles.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		if _, err := roles.Update(t.Context(), r, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	bootstrap := func() {
		t.Helper()
		if err := Bootstrap(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	bootstrap()
	extra := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"x.y"}, Resources: []string{"zs"}}
	update("system:kube-scheduler", func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules[1:], extra) })
	update("system:discovery", func(r *rbacv1.ClusterRole) {
		r.Rules = nil
		r.Annotations[rbacv1.AutoUpdateAnnotationKey] = "false"
	})
	if err := client.RbacV1().ClusterRoleBindings().Delete(t.Context(), "system:basic-user", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	bootstrap()
	got, err := roles.Get(t.Context(), "system:kube-scheduler", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := builtInRole(t, "system:kube-scheduler").Rules
	if covered, missing := validation.Covers(got.Rules, want); !covered || !slices.ContainsFunc(got.Rules, func(r rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(r, extra) }) {
		t.Errorf("got rules %v, want those of the policy (missing: %v) and %v", got.Rules, missing, extra)
	}
	if got, err := roles.Get(t.Context(), "system:discovery", metav1.GetOptions{}); err != nil || len(got.Rules) != 0 {
		t.Errorf("role with autoupdate=false: got rules %v and error %v, want no rules", got.Rules, err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Get(t.Context(), "system:basic-user", metav1.GetOptions{}); err != nil {
		t.Errorf("deleted binding: got error %v, want the restored binding", err)
	}
}

// builtInRole returns a ClusterRole of the policy.
func builtInRole(t *testing.T, name string) *rbacv1.ClusterRole {
	t.Helper()
	for _, r := range policy.ClusterRoles() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("got no ClusterRole %s in the policy, want it", name)
	return nil
}

func TestAggregationFollowsLabels(t *testing.T) {
	client := fake.NewClientset()
	if err := Bootstrap(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	a, err := NewAggregator(client, factory)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { a.Run(ctx); close(done) }()
	defer func() { cancel(); <-done; factory.Shutdown() }()
	factory.Start(ctx.Done())
	hasRule := func(name, resource string) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			r, err := client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
			return err == nil && slices.ContainsFunc(r.Rules, func(p rbacv1.PolicyRule) bool { return slices.Contains(p.Resources, resource) }), nil
		}
	}
	waitForRule := func(name, resource string) {
		t.Helper()
		if err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 10*time.Second, true, hasRule(name, resource)); err != nil {
			t.Fatalf("role %s after 10 s: got no rule for %s, want one", name, resource)
		}
	}
	waitForRule("view", "configmaps")
	waitForRule("edit", "pods/eviction")
	waitForRule("admin", "rolebindings")
	waitForRule("admin", "configmaps") // through edit and view
	custom := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "ships", Labels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"berth.dev"}, Resources: []string{"holds"}}},
	}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, custom, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForRule("view", "holds")
	waitForRule("admin", "holds")
}

// TestBuiltInPermissions checks the permissions of Berth's identities.
func TestBuiltInPermissions(t *testing.T) {
	client := fake.NewClientset()
	if err := Bootstrap(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	r, err := NewResolver(factory)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	scheduler, controllers := &user.DefaultInfo{Name: "system:kube-scheduler"}, &user.DefaultInfo{Name: "system:kube-controller-manager"}
	anonymous := &user.DefaultInfo{Name: "system:anonymous", Groups: []string{"system:unauthenticated"}}
	anyUser := &user.DefaultInfo{Name: "eve", Groups: []string{"system:authenticated"}}
	node := &user.DefaultInfo{Name: "system:node:n", Groups: []string{"system:nodes", "system:authenticated"}}
	descheduler := &user.DefaultInfo{Name: "system:berth:descheduler"}
	simulated := &user.DefaultInfo{Name: "system:berth:simulated-nodes"}
	for _, tc := range []struct {
		u        user.Info
		requests []string
		want     bool
	}{
		{scheduler, []string{"create :pods/binding p", "list :pods", "delete :pods p", "patch :pods/status p", "create events.k8s.io:events", "list storage.k8s.io:storageclasses", "update coordination.k8s.io:leases kube-scheduler", "update coordination.k8s.io:leases berth-scheduler"}, true},
		{scheduler, []string{"get :secrets s", "create :pods", "delete :nodes n", "update coordination.k8s.io:leases other", "get :configmaps c"}, false},
		{controllers, []string{"list :anything", "update :namespaces/finalize x", "create apps:replicasets", "create :pods", "update policy:poddisruptionbudgets/status x"}, true},
		{controllers, []string{"escalate rbac.authorization.k8s.io:clusterroles x", "create rbac.authorization.k8s.io:clusterrolebindings"}, false},
		{anonymous, []string{"get /healthz", "get /version", "get /readyz"}, true},
		{anonymous, []string{"get /api", "list :pods", "get /metrics", "get /openapi/v3", "create authorization.k8s.io:selfsubjectaccessreviews"}, false},
		{anyUser, []string{"get /api", "get /apis/apps/v1", "get /openapi/v3", "create authentication.k8s.io:selfsubjectreviews"}, true},
		{anyUser, []string{"list :pods", "get /metrics", "create authorization.k8s.io:subjectaccessreviews"}, false},
		{node, []string{"list :pods", "get :secrets s", "update :nodes n"}, false}, // the node authorizer grants these, not RBAC
		{descheduler, []string{"create :pods/eviction p", "list :nodes", "update coordination.k8s.io:leases descheduler", "get coordination.k8s.io:leases berth-scheduler", "list metrics.k8s.io:pods"}, true},
		{descheduler, []string{"delete :pods p", "get :secrets s", "update coordination.k8s.io:leases berth-scheduler"}, false},
		{simulated, []string{"create :nodes", "patch :pods/status p", "delete :pods p", "update coordination.k8s.io:leases n", "create certificates.k8s.io:certificatesigningrequests"}, true},
		{simulated, []string{"get :secrets s", "create :pods", "create :pods/binding p"}, false},
	} {
		for _, request := range tc.requests {
			decision, _, _ := NewAuthorizer(r).Authorize(t.Context(), parseRequest(tc.u, "a", request))
			if got := decision == authorizer.DecisionAllow; got != tc.want {
				t.Errorf("%s: %s: got allowed %v, want %v", tc.u.GetName(), request, got, tc.want)
			}
		}
	}
}
