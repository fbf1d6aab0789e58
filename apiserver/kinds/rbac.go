package kinds

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berthproject/berth/apiserver/validation/rbac"
)

func rbacKinds() []Kind {
	gv := rbacv1.SchemeGroupVersion
	return []Kind{
		{
			GroupVersion: gv, Kind: "Role", Resource: "roles", Namespaced: true,
			New:                 func() runtime.Object { return &rbacv1.Role{} },
			NewList:             func() runtime.Object { return &rbacv1.RoleList{} },
			Hooks:               typedHooks[*rbacv1.Role]{Validate: rbac.ValidateRole, ValidateUpdate: rbac.ValidateRoleUpdate}.hooks(),
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "RoleBinding", Resource: "rolebindings", Namespaced: true,
			New:                 func() runtime.Object { return &rbacv1.RoleBinding{} },
			NewList:             func() runtime.Object { return &rbacv1.RoleBindingList{} },
			Hooks:               typedHooks[*rbacv1.RoleBinding]{Default: rbac.DefaultRoleBinding, Validate: rbac.ValidateRoleBinding, ValidateUpdate: rbac.ValidateRoleBindingUpdate}.hooks(),
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "ClusterRole", Resource: "clusterroles",
			New:                 func() runtime.Object { return &rbacv1.ClusterRole{} },
			NewList:             func() runtime.Object { return &rbacv1.ClusterRoleList{} },
			Hooks:               typedHooks[*rbacv1.ClusterRole]{Validate: rbac.ValidateClusterRole, ValidateUpdate: rbac.ValidateClusterRoleUpdate}.hooks(),
			AllowCreateOnUpdate: true,
		},
		{
			GroupVersion: gv, Kind: "ClusterRoleBinding", Resource: "clusterrolebindings",
			New:                 func() runtime.Object { return &rbacv1.ClusterRoleBinding{} },
			NewList:             func() runtime.Object { return &rbacv1.ClusterRoleBindingList{} },
			Hooks:               typedHooks[*rbacv1.ClusterRoleBinding]{Default: rbac.DefaultClusterRoleBinding, Validate: rbac.ValidateClusterRoleBinding, ValidateUpdate: rbac.ValidateClusterRoleBindingUpdate}.hooks(),
			AllowCreateOnUpdate: true,
		},
	}
}
