package policy

import rbacv1 "k8s.io/api/rbac/v1"

// componentRoles returns the roles of authenticated users and of cluster components.
func componentRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{
		clusterRole("system:discovery", allowURLs("get", "/livez", "/readyz", "/healthz", "/version", "/version/",
			"/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")),
		clusterRole("system:public-info-viewer", allowURLs("get", "/livez", "/readyz", "/healthz", "/version", "/version/")),
		clusterRole("system:monitoring", allowURLs("get", "/healthz", "/healthz/*", "/livez", "/livez/*",
			"/metrics", "/metrics/slis", "/readyz", "/readyz/*")),
		clusterRole("system:basic-user",
			allow("create", authorization, "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
			allow("create", authentication, "selfsubjectreviews")),
		clusterRole("system:service-account-issuer-discovery", allowURLs("get",
			"/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/")),
		clusterRole("system:auth-delegator", authDelegatorRules()...),
		clusterRole("system:kube-scheduler", schedulerRules()...),
		clusterRole("system:volume-scheduler",
			allow("get list watch patch update", core, "persistentvolumes", "persistentvolumeclaims"),
			allow(read, storage, "storageclasses")),
		clusterRole("system:kube-controller-manager", controllerManagerRules()...),
		clusterRole("system:node", NodeRules()...),
		clusterRole("system:kubelet-api-admin",
			allow(read, core, "nodes"),
			allow("proxy", core, "nodes"),
			allow("*", core, "nodes/configz", "nodes/healthz", "nodes/log", "nodes/metrics", "nodes/pods", "nodes/proxy", "nodes/stats")),
		clusterRole("system:node-proxier",
			allow("list watch", core, "services", "endpoints"),
			allow(read, core, "nodes"),
			recordEvents(),
			allow("list watch", discovery, "endpointslices")),
	}
}

// authDelegatorRules returns the rules of a component that delegates authentication and
// authorization to the API server.
func authDelegatorRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create", authentication, "tokenreviews"),
		allow("create", authorization, "subjectaccessreviews"),
	}
}

// leaderElectionRules returns the rules of a component that holds the named Lease.
func leaderElectionRules(name string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create list watch", coordination, "leases"),
		allowNamed("get update patch", coordination, "leases", name),
	}
}

func schedulerRules() []rbacv1.PolicyRule {
	replicaSets := allow(read, apps, "replicasets")
	replicaSets.APIGroups = []string{apps, extensions}
	rules := []rbacv1.PolicyRule{
		recordEvents(),
		allow(read, core, "nodes", "namespaces"),
		allow("delete get list watch", core, "pods"),
		allow("create", core, "pods/binding", "bindings"),
		allow("patch update", core, "pods/status"),
		allow(read, core, "replicationcontrollers", "services"),
		replicaSets,
		allow(read, apps, "statefulsets"),
		allow(read, policyGroup, "poddisruptionbudgets"),
		allow(read, core, "persistentvolumeclaims", "persistentvolumes"),
		allow(read, storage, "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
		allow(read, resource, "deviceclasses", "resourceslices"),
		allow("get list watch patch update", resource, "resourceclaims"),
		allow("patch update", resource, "resourceclaims/status"),
	}
	rules = append(rules, leaderElectionRules("kube-scheduler")...)
	return append(rules, authDelegatorRules()...)
}

func controllerManagerRules() []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{
		recordEvents(),
		allow("create", core, "secrets", "serviceaccounts"),
		allow("delete", core, "secrets"),
		allow("get", core, "namespaces", "secrets", "serviceaccounts", "configmaps"),
		allow("update", core, "secrets", "serviceaccounts"),
		allow("list watch", "*", "*"), // informers for every kind
		allow("create", core, "serviceaccounts/token"),
	}
	rules = append(rules, leaderElectionRules("kube-controller-manager")...)
	return append(rules, authDelegatorRules()...)
}

// NodeRules returns what any node may do. The node authorizer restricts it to the objects of the
// requesting node.
func NodeRules() []rbacv1.PolicyRule {
	rules := append(authDelegatorRules(), allow("create", authorization, "localsubjectaccessreviews"))
	return append(rules,
		allow(read, core, "services"),
		allow("create get list watch", core, "nodes"),
		allow("patch update", core, "nodes/status"),
		allow("patch update", core, "nodes"),
		recordEvents(),
		allow(read, core, "pods"),
		allow("create delete", core, "pods"),
		allow("patch update", core, "pods/status"),
		allow("create", core, "pods/eviction"),
		allow(read, core, "configmaps", "secrets"),
		allow("get", core, "persistentvolumeclaims", "persistentvolumes"),
		allow("get patch update", core, "persistentvolumeclaims/status"),
		allow("create", core, "serviceaccounts/token"),
		allow("get", core, "serviceaccounts"),
		allow("create get list watch", certificates, "certificatesigningrequests"),
		allow("create delete get patch update", coordination, "leases"),
		allow("get", storage, "volumeattachments"),
		allow("create delete get patch update", storage, "csinodes"),
		allow(read, storage, "csidrivers"),
		allow(read, nodeGroup, "runtimeclasses"),
		allow("get", resource, "resourceclaims"),
		allow("create delete deletecollection get list patch update watch", resource, "resourceslices"),
	)
}
