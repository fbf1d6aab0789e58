package policy

import "testing"

func TestBindingsReferToExistingRoles(t *testing.T) {
	roles := map[string]bool{}
	for _, r := range ClusterRoles() {
		if roles[r.Name] {
			t.Errorf("the role %s exists twice", r.Name)
		}
		roles[r.Name] = true
	}
	for _, b := range ClusterRoleBindings() {
		if !roles[b.RoleRef.Name] {
			t.Errorf("%s binds the role %s, which does not exist", b.Name, b.RoleRef.Name)
		}
	}
}
