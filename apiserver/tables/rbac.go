package tables

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func rbacTable(resource schema.GroupResource) (Table, bool) {
	switch resource {
	case rbacv1.Resource("rolebindings"):
		return newTable(func(b *rbacv1.RoleBinding) []any { return bindingRow(&b.ObjectMeta, b.RoleRef, b.Subjects) }, bindingColumns()...)
	case rbacv1.Resource("clusterrolebindings"):
		return newTable(func(b *rbacv1.ClusterRoleBinding) []any { return bindingRow(&b.ObjectMeta, b.RoleRef, b.Subjects) }, bindingColumns()...)
	}
	return Table{}, false
}

func bindingColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{nameColumn(), stringColumn("Role", "Role that the binding grants."), ageColumn(),
		wide(stringColumn("Users", "Users in the binding.")), wide(stringColumn("Groups", "Groups in the binding.")),
		wide(stringColumn("ServiceAccounts", "Service accounts in the binding."))}
}

func bindingRow(m *metav1.ObjectMeta, ref rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{m.Name, ref.Kind + "/" + ref.Name, age(m), strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", ")}
}
