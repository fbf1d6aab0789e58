package policy

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	schedulerUser  = "system:kube-scheduler"
	controllerUser = "system:kube-controller-manager"
	// aggregationController is the only controller with the verb escalate. Berth runs it in the API
	// server, so no other credential needs the verb.
	aggregationController = "clusterrole-aggregation-controller"
	// AuthenticationConfigMap is the ConfigMap in kube-system from which other components read the
	// client CA. The name is upstream's.
	AuthenticationConfigMap = "extension-apiserver-authentication"
)

// ClusterRoles returns all built-in ClusterRoles in a fixed order.
func ClusterRoles() []*rbacv1.ClusterRole {
	out := slices.Concat(userFacingRoles(), componentRoles(), addonRoles())
	byController := controllerRules()
	for _, name := range slices.Sorted(maps.Keys(byController)) {
		out = append(out, clusterRole("system:controller:"+name, byController[name]...))
	}
	byName := berthRules()
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, clusterRole(name, byName[name]...))
	}
	return out
}

// ClusterRoleBindings returns all built-in ClusterRoleBindings in a fixed order.
func ClusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	authenticated := group("system:authenticated")
	out := []*rbacv1.ClusterRoleBinding{
		bind("cluster-admin", "cluster-admin", group("system:masters")),
		bind("system:discovery", "system:discovery", authenticated),
		bind("system:basic-user", "system:basic-user", authenticated),
		bind("system:public-info-viewer", "system:public-info-viewer", authenticated, group("system:unauthenticated")),
		bind("system:monitoring", "system:monitoring", group("system:monitoring")),
		bind("system:service-account-issuer-discovery", "system:service-account-issuer-discovery", group("system:serviceaccounts")),
		bind("system:kube-scheduler", "system:kube-scheduler", user(schedulerUser)),
		bind("system:volume-scheduler", "system:volume-scheduler", user(schedulerUser)),
		bind("system:kube-controller-manager", "system:kube-controller-manager", user(controllerUser)),
		bind("system:node-proxier", "system:node-proxier", user("system:kube-proxy")),
		bind("system:kube-dns", "system:kube-dns", serviceAccount("kube-dns")),
		bind("system:node", "system:node"), // the node authorizer grants access instead
		bind("system:berth:apiserver", "system:kubelet-api-admin", user("kube-apiserver-kubelet-client")),
		bind("system:berth:scheduler", "system:berth:scheduler", user(schedulerUser)),
		bind("system:berth:controllers", "system:berth:controllers", user(controllerUser)),
		bind("system:berth:descheduler", "system:berth:descheduler", user("system:berth:descheduler")),
		bind("system:berth:local-directory", "system:berth:local-directory", user("system:berth:local-directory")),
		bind("system:berth:certificates", "system:berth:certificates", user("system:berth:certificates")),
		bind("system:berth:certificate-renewal", "system:berth:certificate-renewal", user(schedulerUser), user(controllerUser), user("system:berth:descheduler"),
			user("system:berth:simulated-nodes")),
		bind("system:berth:service-proxy", "system:berth:service-proxy", group("system:nodes")),
		bind("system:berth:cluster-dns", "system:berth:cluster-dns", user("system:berth:cluster-dns")),
		bind("system:berth:simulated-nodes", "system:berth:simulated-nodes", user("system:berth:simulated-nodes")),
	}
	for _, name := range slices.Sorted(maps.Keys(controllerRules())) {
		subjects := []rbacv1.Subject{serviceAccount(name)}
		if name != aggregationController {
			subjects = append(subjects, user(controllerUser))
		}
		out = append(out, bind("system:controller:"+name, "system:controller:"+name, subjects...))
	}
	return out
}

// Roles returns the built-in Roles, all in kube-system.
func Roles() []*rbacv1.Role {
	reader := &rbacv1.Role{
		ObjectMeta: meta("extension-apiserver-authentication-reader"),
		Rules:      []rbacv1.PolicyRule{allowNamed(read, core, "configmaps", AuthenticationConfigMap)},
	}
	reader.Namespace = metav1.NamespaceSystem
	return []*rbacv1.Role{reader}
}

// RoleBindings returns the built-in RoleBindings, all in kube-system.
func RoleBindings() []*rbacv1.RoleBinding {
	reader := &rbacv1.RoleBinding{
		ObjectMeta: meta("system::extension-apiserver-authentication-reader"),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		Subjects:   []rbacv1.Subject{user(controllerUser), user(schedulerUser)},
	}
	reader.Namespace = metav1.NamespaceSystem
	return []*rbacv1.RoleBinding{reader}
}
