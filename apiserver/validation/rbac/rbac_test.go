package rbac

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// joinErrors joins errors as "path: detail".
func joinErrors(errs field.ErrorList) string {
	var out []string
	for _, err := range errs {
		out = append(out, err.Field+": "+err.Detail)
	}
	return strings.Join(out, "; ")
}

func TestPolicyRules(t *testing.T) {
	pods := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	health := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}}
	both := pods
	both.NonResourceURLs = []string{"/x"}
	meta := metav1.ObjectMeta{Name: "system:x", Namespace: "a"}
	for name, tc := range map[string]struct {
		rule                      rbacv1.PolicyRule
		wantRole, wantClusterRole string
	}{
		"resources":         {rule: pods},
		"non-resource URLs": {rule: health, wantRole: "rules[0].nonResourceURLs: namespaced rules cannot apply to non-resource URLs"},
		"resources and URLs": {rule: both,
			wantRole:        "rules[0].nonResourceURLs: namespaced rules cannot apply to non-resource URLs; rules[0].nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs",
			wantClusterRole: "rules[0].nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"},
		"empty rule": {
			wantRole:        "rules[0].verbs: verbs must contain at least one value; rules[0].apiGroups: resource rules must supply at least one api group; rules[0].resources: resource rules must supply at least one resource",
			wantClusterRole: "rules[0].verbs: verbs must contain at least one value; rules[0].apiGroups: resource rules must supply at least one api group; rules[0].resources: resource rules must supply at least one resource"},
	} {
		rules := []rbacv1.PolicyRule{tc.rule}
		if got := joinErrors(ValidateRole(&rbacv1.Role{ObjectMeta: meta, Rules: rules})); got != tc.wantRole {
			t.Errorf("%s: role: got %q, want %q", name, got, tc.wantRole)
		}
		if got := joinErrors(ValidateClusterRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Rules: rules})); got != tc.wantClusterRole {
			t.Errorf("%s: cluster role: got %q, want %q", name, got, tc.wantClusterRole)
		}
	}
	empty := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x"}, AggregationRule: &rbacv1.AggregationRule{}}
	if got, want := joinErrors(ValidateClusterRole(empty)), "aggregationRule.clusterRoleSelectors: at least one clusterRoleSelector required if aggregationRule is non-nil"; got != want {
		t.Errorf("empty aggregation: got %q, want %q", got, want)
	}
}

func TestBindings(t *testing.T) {
	role := func(kind string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: "r"} }
	account := rbacv1.Subject{Kind: "ServiceAccount", Name: "web"}
	for name, tc := range map[string]struct {
		ref                             rbacv1.RoleRef
		subject                         rbacv1.Subject
		wantBinding, wantClusterBinding string
	}{
		"user":          {ref: role("ClusterRole"), subject: rbacv1.Subject{Kind: "User", Name: "ann"}},
		"account":       {ref: role("ClusterRole"), subject: account, wantClusterBinding: "subjects[0].namespace: "},
		"role":          {ref: role("Role"), subject: rbacv1.Subject{Kind: "Group", Name: "g"}, wantClusterBinding: `roleRef.kind: supported values: "ClusterRole"`},
		"without names": {ref: rbacv1.RoleRef{Kind: "ClusterRole"}, subject: rbacv1.Subject{Kind: "User"}, wantBinding: "roleRef.name: ; subjects[0].name: ", wantClusterBinding: "roleRef.name: ; subjects[0].name: "},
		"unknown kind": {ref: role("ClusterRole"), subject: rbacv1.Subject{Kind: "Robot", Name: "r"},
			wantBinding:        `subjects[0].kind: supported values: "ServiceAccount", "User", "Group"`,
			wantClusterBinding: `subjects[0].kind: supported values: "ServiceAccount", "User", "Group"`},
	} {
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "a"}, RoleRef: tc.ref, Subjects: []rbacv1.Subject{tc.subject}}
		DefaultRoleBinding(binding)
		if got := joinErrors(ValidateRoleBinding(binding)); got != tc.wantBinding {
			t.Errorf("%s: role binding: got %q, want %q", name, got, tc.wantBinding)
		}
		clusterBinding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: tc.ref, Subjects: []rbacv1.Subject{tc.subject}}
		DefaultClusterRoleBinding(clusterBinding)
		if got := joinErrors(ValidateClusterRoleBinding(clusterBinding)); got != tc.wantClusterBinding {
			t.Errorf("%s: cluster role binding: got %q, want %q", name, got, tc.wantClusterBinding)
		}
	}
	old := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "1"}, RoleRef: role("ClusterRole")}
	DefaultClusterRoleBinding(old)
	changed := old.DeepCopy()
	changed.RoleRef.Name = "other"
	if got, want := joinErrors(ValidateClusterRoleBindingUpdate(changed, old)), "roleRef: cannot change roleRef"; got != want {
		t.Errorf("another role: got %q, want %q", got, want)
	}
}
