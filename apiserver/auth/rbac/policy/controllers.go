package policy

import rbacv1 "k8s.io/api/rbac/v1"

// controllerRules returns the rules of each controller by service account. The role of controller
// NAME is system:controller:NAME.
func controllerRules() map[string][]rbacv1.PolicyRule {
	out := map[string][]rbacv1.PolicyRule{}
	for name, rules := range workloadControllerRules() {
		out[name] = append(rules, recordEvents())
	}
	for name, rules := range clusterControllerRules() {
		out[name] = append(rules, recordEvents())
	}
	return out
}

// workloadControllerRules returns the rules of the controllers that create pods.
func workloadControllerRules() map[string][]rbacv1.PolicyRule {
	managePods := allow("create delete get list patch update watch", core, "pods")
	return map[string][]rbacv1.PolicyRule{
		"replicaset-controller": {
			allow("get list watch update", apps, "replicasets"), allow("update", apps, "replicasets/status", "replicasets/finalizers"), managePods,
		},
		"replication-controller": {
			allow("get list watch update", core, "replicationcontrollers"),
			allow("update", core, "replicationcontrollers/status", "replicationcontrollers/finalizers"), managePods,
		},
		"deployment-controller": {
			allow("get list watch update", apps, "deployments"), allow("update", apps, "deployments/status", "deployments/finalizers"),
			allow("create delete get list patch update watch", apps, "replicasets"), allow("get list update watch", core, "pods"),
		},
		"statefulset-controller": {
			allow("get list watch update", apps, "statefulsets"), allow("update", apps, "statefulsets/status", "statefulsets/finalizers"),
			allow("create delete get list patch update watch", apps, "controllerrevisions"),
			allow("create delete get list patch update watch", core, "persistentvolumeclaims"), managePods,
		},
		"daemon-set-controller": {
			allow("get list watch update", apps, "daemonsets"), allow("update", apps, "daemonsets/status", "daemonsets/finalizers"),
			allow("create delete get list patch update watch", apps, "controllerrevisions"), allow("list watch", core, "nodes"),
			allow("create", core, "pods/binding"), managePods,
		},
		"job-controller": {
			allow("get list watch update patch", batch, "jobs"), allow("update", batch, "jobs/status", "jobs/finalizers"), managePods,
		},
		"cronjob-controller": {
			allow("get list watch update", batch, "cronjobs"), allow("update", batch, "cronjobs/status", "cronjobs/finalizers"),
			allow("create delete get list patch update watch", batch, "jobs"), allow("delete list", core, "pods"),
		},
	}
}

// clusterControllerRules returns the rules of all other controllers.
func clusterControllerRules() map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{
		"namespace-controller": {
			allow("get list watch", core, "namespaces"), allow("update", core, "namespaces/finalize", "namespaces/status"),
			allow("delete deletecollection get list", "*", "*"),
		},
		"resourcequota-controller":      {allow("list watch", "*", "*"), allow("update", core, "resourcequotas/status")},
		"service-account-controller":    {allow("create", core, "serviceaccounts"), allow(read, core, "namespaces")},
		"root-ca-cert-publisher":        {allow("create update", core, "configmaps"), allow(read, core, "namespaces")},
		"generic-garbage-collector":     {allow("delete get list patch update watch", "*", "*")},
		"pod-garbage-collector":         {allow("delete list watch", core, "pods"), allow("get list", core, "nodes"), allow("patch", core, "pods/status")},
		"ttl-after-finished-controller": {allow("delete get list watch", batch, "jobs")},
		"node-controller": {
			allow("delete get list patch update watch", core, "nodes"), allow("patch update", core, "nodes/status"),
			allow("patch update", core, "pods/status"), allow("delete get list watch", core, "pods"),
			allow(read, coordination, "leases"),
		},
		"taint-eviction-controller": {
			allow(read, core, "nodes"), allow("delete get list watch", core, "pods"), allow("patch update", core, "pods/status"),
			// Beyond upstream: the controller records evictions in the disruption budgets that they
			// override.
			allow(read, policyGroup, "poddisruptionbudgets"), allow("update", policyGroup, "poddisruptionbudgets/status"),
		},
		"disruption-controller": {
			allow(read, policyGroup, "poddisruptionbudgets"), allow("update", policyGroup, "poddisruptionbudgets/status"),
			allow(read, core, "pods", "replicationcontrollers"), allow("patch update", core, "pods/status"),
			allow(read, apps, "replicasets", "deployments", "statefulsets"), allow("get", "*", "*/scale"),
		},
		"horizontal-pod-autoscaler": {
			allow(read, autoscaling, "horizontalpodautoscalers"), allow("update", autoscaling, "horizontalpodautoscalers/status"),
			allow("get update", "*", "*/scale"), allow(read, core, "pods"), allow("list", metricsGroup, "pods"),
			allow("get list", customMetricsGroup, "*"), allow("get list", externalMetricsGroup, "*"),
		},
		"endpoint-controller": {
			allow(read, core, "services", "pods"), allow("create delete get list update", core, "endpoints"),
			allow("create", core, "endpoints/restricted"),
		},
		"endpointslice-controller": {
			allow(read, core, "services", "pods", "nodes"), allow("update", core, "services/finalizers"),
			allow("create delete get list update", discovery, "endpointslices"), allow("create", discovery, "endpointslices/restricted"),
		},
		"endpointslicemirroring-controller": {
			allow(read, core, "services", "endpoints"), allow("update", core, "services/finalizers", "endpoints/finalizers"),
			allow("create delete get list update", discovery, "endpointslices"), allow("create", discovery, "endpointslices/restricted"),
		},
		"persistent-volume-binder": {
			allow("create delete get list update watch", core, "persistentvolumes"), allow("update", core, "persistentvolumes/status"),
			allow("get list update watch", core, "persistentvolumeclaims"), allow("update", core, "persistentvolumeclaims/status"),
			allow("create delete get list watch", core, "pods"), allow(read, storage, "storageclasses"), allow(read, core, "nodes"),
		},
		"pvc-protection-controller": {allow("get list update watch", core, "persistentvolumeclaims"), allow(read, core, "pods")},
		"pv-protection-controller":  {allow("get list update watch", core, "persistentvolumes")},
		aggregationController: {
			// The verb escalate is required because the controller writes rules that it does not hold.
			allow("escalate get list patch update watch", rbacGroup, "clusterroles"),
		},
	}
}
