package policy

import rbacv1 "k8s.io/api/rbac/v1"

// userFacingRoles returns the roles for people: cluster-admin, and the aggregated roles admin, edit
// and view.
func userFacingRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		clusterRole("cluster-admin", allow("*", "*", "*"), allowURLs("*", "*")),
		aggregatedRole("admin"),
		aggregatesTo(aggregatedRole("edit"), "admin"),
		aggregatesTo(aggregatedRole("view"), "edit"),
		aggregatesTo(clusterRole("system:aggregate-to-admin", adminRules()...), "admin"),
		aggregatesTo(clusterRole("system:aggregate-to-edit", editRules()...), "edit"),
		aggregatesTo(clusterRole("system:aggregate-to-view", viewRules()...), "view"),
		aggregatesTo(clusterRole("system:berth:aggregate-to-view", allow(read, berthGroup, "holds")), "view"),
		aggregatesTo(clusterRole("system:aggregated-metrics-reader", allow(read, metricsGroup, "pods", "nodes")), "view"),
	}
}

// adminRules returns what admin has beyond edit: granting access to the namespace.
func adminRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create", authorization, "localsubjectaccessreviews"),
		allow(readWrite, rbacGroup, "roles", "rolebindings"),
	}
}

// editRules returns the permissions to change the workloads of a namespace. Reading secrets is part
// of edit and not of view, because a secret can contain credentials.
func editRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow(read, core, "pods/attach", "pods/proxy", "pods/exec", "pods/portforward", "secrets", "services/proxy"),
		allow("impersonate", core, "serviceaccounts"),
		allow(write, core, "pods", "pods/attach", "pods/proxy", "pods/exec", "pods/portforward"),
		allow("create", core, "pods/eviction"),
		allow("patch update", core, "pods/resize"),
		allow(write, core, "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services",
			"services/proxy", "persistentvolumeclaims", "configmaps", "secrets", "events"),
		allow("create", core, "serviceaccounts/token"),
		allow(write, apps, "statefulsets", "statefulsets/scale", "daemonsets", "deployments", "deployments/scale",
			"deployments/rollback", "replicasets", "replicasets/scale"),
		allow(write, autoscaling, "horizontalpodautoscalers"),
		allow(write, batch, "jobs", "cronjobs"),
		allow(write, extensions, "daemonsets", "deployments", "deployments/scale", "deployments/rollback", "ingresses",
			"replicasets", "replicasets/scale", "replicationcontrollers/scale", "networkpolicies"),
		allow(write, policyGroup, "poddisruptionbudgets"),
		allow(write, networking, "networkpolicies", "ingresses"),
		allow(readWrite, coordination, "leases"),
		allow(write, resource, "resourceclaims", "resourceclaimtemplates"),
	}
}

// viewRules returns the permissions to read the workloads of a namespace, without secrets and
// roles.
func viewRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow(read, core, "pods", "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts", "services",
			"services/status", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "configmaps"),
		allow(read, core, "limitranges", "resourcequotas", "bindings", "events", "pods/status", "resourcequotas/status",
			"namespaces/status", "replicationcontrollers/status", "pods/log"),
		allow(read, core, "namespaces"),
		allow(read, discovery, "endpointslices"),
		allow(read, apps, "controllerrevisions", "statefulsets", "statefulsets/status", "statefulsets/scale",
			"daemonsets", "daemonsets/status", "deployments", "deployments/status", "deployments/scale",
			"replicasets", "replicasets/status", "replicasets/scale"),
		allow(read, autoscaling, "horizontalpodautoscalers", "horizontalpodautoscalers/status"),
		allow(read, batch, "jobs", "cronjobs", "cronjobs/status", "jobs/status"),
		allow(read, extensions, "daemonsets", "daemonsets/status", "deployments", "deployments/scale", "deployments/status",
			"ingresses", "ingresses/status", "replicasets", "replicasets/scale", "replicasets/status",
			"replicationcontrollers/scale", "networkpolicies"),
		allow(read, policyGroup, "poddisruptionbudgets", "poddisruptionbudgets/status"),
		allow(read, networking, "networkpolicies", "ingresses", "ingresses/status"),
		allow(read, resource, "resourceclaims", "resourceclaims/status", "resourceclaimtemplates"),
	}
}
