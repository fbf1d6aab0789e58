package rbac

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

// parseRequest parses a request such as "get apps:deployments/scale name" or "get /path".
func parseRequest(u user.Info, namespace, request string) authorizer.AttributesRecord {
	f := strings.Fields(request)
	a := authorizer.AttributesRecord{User: u, Verb: f[0], Namespace: namespace}
	if strings.HasPrefix(f[1], "/") {
		a.Path = f[1]
		return a
	}
	a.ResourceRequest = true
	if len(f) > 2 {
		a.Name = f[2]
	}
	group, path, _ := strings.Cut(f[1], ":")
	a.APIGroup = group
	a.Resource, a.Subresource, _ = strings.Cut(path, "/")
	return a
}

func TestAllowsMatchesRules(t *testing.T) {
	rule := func(verbs, groups, resources, names string) rbacv1.PolicyRule {
		split := func(s string) []string {
			if s == "core" {
				return []string{""}
			}
			return strings.Fields(s)
		}
		return rbacv1.PolicyRule{Verbs: split(verbs), APIGroups: split(groups), Resources: split(resources), ResourceNames: split(names)}
	}
	urls := func(verbs string, urls ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: urls}
	}
	for name, tc := range map[string]struct {
		rule     rbacv1.PolicyRule
		allowed  []string
		rejected []string
	}{
		"plain": {
			rule:     rule("get list", "core", "pods", ""),
			allowed:  []string{"get :pods x", "list :pods"},
			rejected: []string{"watch :pods", "get :pods/log x", "get apps:pods x", "get :services x", "get /pods"},
		},
		"everything": {
			rule:     rule("*", "*", "*", ""),
			allowed:  []string{"get :pods x", "update apps:deployments/scale x"},
			rejected: []string{"get /healthz"},
		},
		"subresource": {
			rule:     rule("get", "core", "pods/log", ""),
			allowed:  []string{"get :pods/log x"},
			rejected: []string{"get :pods x", "get :pods/status x"},
		},
		"subresource of all": {
			rule:     rule("get", "*", "*/scale", ""),
			allowed:  []string{"get apps:deployments/scale x", "get :replicationcontrollers/scale x"},
			rejected: []string{"get apps:deployments x", "get apps:deployments/status x"},
		},
		"pods/* is a literal": {
			rule:     rule("get", "core", "pods/*", ""),
			rejected: []string{"get :pods x", "get :pods/log x"},
		},
		"names": {
			rule:     rule("get", "core", "secrets", "a b"),
			allowed:  []string{"get :secrets a", "get :secrets b"},
			rejected: []string{"get :secrets c", "get :secrets"},
		},
		"paths": {
			rule:     urls("get", "/healthz", "/api/*"),
			allowed:  []string{"get /healthz", "get /api/v1", "get /api/"},
			rejected: []string{"get /healthz/etcd", "get /api", "post /healthz", "get :pods x"},
		},
		"all paths": {rule: urls("*", "*"), allowed: []string{"get /", "post /x"}, rejected: []string{"get :pods x"}},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(request string, want bool) {
				if got := Allows(parseRequest(nil, "", request), tc.rule); got != want {
					t.Errorf("%s: got allowed %v, want %v", request, got, want)
				}
			}
			for _, request := range tc.allowed {
				check(request, true)
			}
			for _, request := range tc.rejected {
				check(request, false)
			}
		})
	}
}

// newTestResolver returns a client with the objects, and a factory and a resolver with synced informers.
func newTestResolver(t *testing.T, objects ...runtime.Object) (*fake.Clientset, informers.SharedInformerFactory, *Resolver) {
	t.Helper()
	client := fake.NewClientset(objects...)
	factory := informers.NewSharedInformerFactory(client, 0)
	r, err := NewResolver(factory)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return client, factory, r
}

func role(kind, namespace, name string, rules ...rbacv1.PolicyRule) runtime.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if kind == "Role" {
		return &rbacv1.Role{ObjectMeta: meta, Rules: rules}
	}
	return &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}
}

func binding(namespace, name, kind, role string, subjects ...rbacv1.Subject) runtime.Object {
	meta, ref := metav1.ObjectMeta{Namespace: namespace, Name: name}, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role}
	if namespace == "" {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}

var (
	readPods    = rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	readHealth  = rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}}
	ann         = rbacv1.Subject{Kind: "User", Name: "ann"}
	ops         = rbacv1.Subject{Kind: "Group", Name: "ops"}
	webAccount  = rbacv1.Subject{Kind: "ServiceAccount", Name: "web"} // in the namespace of the binding
	userAnn     = &user.DefaultInfo{Name: "ann"}
	userOps     = &user.DefaultInfo{Name: "bob", Groups: []string{"ops"}}
	userAccount = &user.DefaultInfo{Name: "system:serviceaccount:a:web"}
	otherUser   = &user.DefaultInfo{Name: "web", Groups: []string{"ann"}}
)

func TestAuthorizerUsesBindingsOfUser(t *testing.T) {
	_, _, r := newTestResolver(t,
		role("ClusterRole", "", "reader", readPods, readHealth),
		role("Role", "a", "local", readPods),
		binding("", "ops", "ClusterRole", "reader", ops),
		binding("", "broken", "ClusterRole", "missing", ann),
		binding("a", "ann", "ClusterRole", "reader", ann),
		binding("a", "web", "Role", "local", webAccount),
	)
	authz := NewAuthorizer(r)
	for name, tc := range map[string]struct {
		u       user.Info
		ns      string
		request string
		want    authorizer.Decision
		reason  string
	}{
		"cluster binding, any namespace":   {userOps, "b", "list :pods", authorizer.DecisionAllow, `RBAC: allowed by ClusterRoleBinding "ops" of ClusterRole "reader" to Group "ops"`},
		"cluster binding, all namespaces":  {userOps, "", "list :pods", authorizer.DecisionAllow, `RBAC: allowed by ClusterRoleBinding "ops" of ClusterRole "reader" to Group "ops"`},
		"cluster binding, path":            {userOps, "", "get /healthz", authorizer.DecisionAllow, `RBAC: allowed by ClusterRoleBinding "ops" of ClusterRole "reader" to Group "ops"`},
		"role binding":                     {userAnn, "a", "list :pods", authorizer.DecisionAllow, `RBAC: allowed by RoleBinding "ann/a" of ClusterRole "reader" to User "ann"`},
		"role binding, other namespace":    {userAnn, "b", "list :pods", authorizer.DecisionNoOpinion, `clusterrole.rbac.authorization.k8s.io "missing" not found`},
		"role binding, all namespaces":     {userAnn, "", "list :pods", authorizer.DecisionNoOpinion, `clusterrole.rbac.authorization.k8s.io "missing" not found`},
		"role binding, path":               {userAnn, "", "get /healthz", authorizer.DecisionNoOpinion, `clusterrole.rbac.authorization.k8s.io "missing" not found`},
		"service account":                  {userAccount, "a", "get :pods x", authorizer.DecisionAllow, `RBAC: allowed by RoleBinding "web/a" of Role "local" to ServiceAccount "web/"`},
		"service account, other namespace": {userAccount, "b", "get :pods x", authorizer.DecisionNoOpinion, ""},
		"name of another subject kind":     {otherUser, "a", "get :pods x", authorizer.DecisionNoOpinion, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, reason, err := authz.Authorize(t.Context(), parseRequest(tc.u, tc.ns, tc.request))
			if got != tc.want || reason != tc.reason || err != nil {
				t.Errorf("Authorize() = %v, %q, %v, want %v, %q", got, reason, err, tc.want, tc.reason)
			}
		})
	}
}

func TestRulesForReturnsResourceAndPathRules(t *testing.T) {
	_, _, r := newTestResolver(t, role("ClusterRole", "", "reader", readPods, readHealth), binding("", "ops", "ClusterRole", "reader", ops))
	resources, urls, incomplete, err := NewAuthorizer(r).RulesFor(t.Context(), userOps, "a")
	if len(resources) != 1 || len(urls) != 1 || incomplete || err != nil {
		t.Errorf("got %d resource rules, %d path rules, incomplete %v, error %v, want 1, 1, false and no error", len(resources), len(urls), incomplete, err)
	}
}
