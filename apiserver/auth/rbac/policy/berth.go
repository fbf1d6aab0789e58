package policy

import rbacv1 "k8s.io/api/rbac/v1"

// berthRules are the roles that upstream has no name for.
func berthRules() map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{
		// Moves pods by eviction only; it cannot delete one past its budget.
		// Its Lease has the name that the Kubernetes descheduler's has: the two never run at once.
		"system:berth:descheduler": append(append(leaderElectionRules("descheduler"), authDelegatorRules()...),
			recordEvents(),
			allowNamed("get", coordination, "leases", "berth-scheduler"), // which says whether Holds are honoured
			allow(read, core, "nodes", "namespaces", "pods", "persistentvolumeclaims", "persistentvolumes", "services", "replicationcontrollers"),
			allow("create", core, "pods/eviction"),
			allow(read, apps, "replicasets", "statefulsets", "daemonsets", "deployments"),
			allow(read, policyGroup, "poddisruptionbudgets"),
			allow(read, scheduling, "priorityclasses"),
			allow(read, storage, "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
			allow(read, resource, "resourceclaims"),
			allow("get list", metricsGroup, "nodes", "pods"),
			allow(readWrite, berthGroup, "holds")),
		// One process that plays many nodes, so the node authorizer cannot bound it.
		"system:berth:simulated-nodes": append(authDelegatorRules(),
			recordEvents(),
			allow("create delete get list patch update watch", core, "nodes"),
			allow("patch update", core, "nodes/status"),
			allow("delete get list watch", core, "pods"),
			allow("patch update", core, "pods/status"),
			allow("create", core, "pods/eviction"),
			allow("get", core, "persistentvolumeclaims"),
			allow("create delete get list patch update watch", coordination, "leases"),
			allow("create get patch update", storage, "csinodes")),
		// Makes directories into volumes; a claim it can only give back to the scheduler.
		"system:berth:local-directory": {
			recordEvents(),
			allow("create delete get list update watch", core, "persistentvolumes"),
			allow("get list update watch", core, "persistentvolumeclaims"),
			allow("get", core, "nodes"),
			allow(read, storage, "storageclasses"),
		},
		// What Berth's scheduler does beyond kube-scheduler, and its own Lease: it reads
		// classes and holds, and books the victims of preemption in their disruption budgets.
		"system:berth:scheduler": append(leaderElectionRules("berth-scheduler"),
			allow(read, scheduling, "priorityclasses"),
			allow(read, berthGroup, "holds"),
			allow("update", policyGroup, "poddisruptionbudgets/status")),
		// The Lease of Berth's loops; what was driven out of a node is held off it. Records of
		// displacements are events, which are read again.
		"system:berth:controllers": append(leaderElectionRules("berth-controller"), allow(readWrite, berthGroup, "holds"),
			allow(read, core, "pods", "nodes"), allow(read, eventsGroup, "events"), recordEvents()),
	}
}
