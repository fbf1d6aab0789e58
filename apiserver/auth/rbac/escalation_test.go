package rbac

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// newAttributes returns the admission attributes of a write by u.
func newAttributes(u user.Info, obj, old runtime.Object, namespace, name, resource string) admission.Attributes {
	op := admission.Create
	if old != nil {
		op = admission.Update
	}
	gvr := rbacv1.SchemeGroupVersion.WithResource(resource)
	return admission.NewAttributesRecord(obj, old, rbacv1.SchemeGroupVersion.WithKind("X"), namespace, name, gvr, "", op, nil, false, u)
}

func TestEscalationIsForbidden(t *testing.T) {
	secrets := rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	allResources := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	rbacRule := func(verb string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "clusterroles"}, ResourceNames: names}
	}
	subject := func(name string) rbacv1.Subject { return rbacv1.Subject{Kind: "User", Name: name} }
	_, factory, _ := newTestResolver(t,
		role("ClusterRole", "", "reader", readPods), role("ClusterRole", "", "secrets", secrets), role("ClusterRole", "", "all", allResources),
		role("ClusterRole", "", "escalator", rbacRule("escalate")), role("ClusterRole", "", "binder", rbacRule("bind", "secrets")),
		binding("a", "ann", "ClusterRole", "reader", subject("ann")),
		binding("a", "esc", "ClusterRole", "escalator", subject("esc")),
		binding("a", "bin", "ClusterRole", "binder", subject("bin")),
		binding("", "root", "ClusterRole", "all", subject("root")),
	)
	e := NewEscalation()
	e.SetExternalKubeInformerFactory(factory)
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	e.SetUnconditionalAuthorizer(NewAuthorizer(e.resolver))
	if err := e.ValidateInitialization(); err != nil {
		t.Fatal(err)
	}
	const notHeld = ` is attempting to grant RBAC permissions not currently held:` + "\n" + `{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}`
	aggregating := &rbacv1.ClusterRole{AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}}}
	owned := role("Role", "a", "r", secrets).(*rbacv1.Role)
	owned.OwnerReferences = []metav1.OwnerReference{{Name: "x"}}
	for name, tc := range map[string]struct {
		user     string
		ns       string
		resource string
		obj, old runtime.Object
		want     string // part of the error; "" means admitted
	}{
		"held":                               {"ann", "a", "roles", role("Role", "a", "r", readPods), nil, ""},
		"not held":                           {"ann", "a", "roles", role("Role", "a", "r", readPods, secrets), nil, `user "ann" (groups=["g"])` + notHeld},
		"held in another namespace":          {"ann", "b", "roles", role("Role", "b", "r", readPods), nil, "not currently held"},
		"held in a namespace only":           {"ann", "", "clusterroles", role("ClusterRole", "", "r", readPods), nil, "not currently held"},
		"update":                             {"ann", "a", "roles", role("Role", "a", "r", secrets), role("Role", "a", "r", readPods), notHeld},
		"update of owners":                   {"ann", "a", "roles", owned, role("Role", "a", "r", secrets), ""},
		"verb escalate":                      {"esc", "a", "roles", role("Role", "a", "r", secrets), nil, ""},
		"verb bind":                          {"bin", "a", "rolebindings", binding("a", "b", "ClusterRole", "secrets"), nil, ""},
		"verb bind on another role":          {"bin", "a", "rolebindings", binding("a", "b", "ClusterRole", "all"), nil, "not currently held"},
		"binding to a held role":             {"ann", "a", "rolebindings", binding("a", "b", "ClusterRole", "reader"), nil, ""},
		"binding to a role that is not held": {"ann", "a", "rolebindings", binding("a", "b", "ClusterRole", "secrets"), nil, notHeld},
		"binding to a missing role":          {"ann", "a", "rolebindings", binding("a", "b", "ClusterRole", "missing"), nil, "not found"},
		"cluster binding":                    {"ann", "", "clusterrolebindings", binding("", "b", "ClusterRole", "reader"), nil, "not currently held"},
		"aggregation":                        {"ann", "", "clusterroles", aggregating, nil, "must have cluster-admin privileges to use an aggregationRule"},
		"verb escalate through all verbs":    {"root", "", "clusterroles", aggregating, nil, ""},
		"all resources":                      {"root", "", "clusterroles", role("ClusterRole", "", "r", allResources), nil, ""},
		"group system:masters":               {"", "", "clusterroles", aggregating, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := &user.DefaultInfo{Name: tc.user, Groups: []string{"g"}}
			if tc.user == "" {
				u.Groups = []string{"system:masters"}
			}
			err := e.Validate(t.Context(), newAttributes(u, tc.obj, tc.old, tc.ns, "r", tc.resource), nil)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}
