package policy

import rbacv1 "k8s.io/api/rbac/v1"

// berthRules returns the rules of roles that Kubernetes does not have, by role name.
func berthRules() map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{
		// The descheduler moves pods by eviction only, so it cannot violate a disruption budget. Its Lease has the
		// name that the Kubernetes descheduler uses, so the two never run at the same time.
		"system:berth:descheduler": append(append(leaderElectionRules("descheduler"), authDelegatorRules()...),
			recordEvents(),
			allowNamed("get", coordination, "leases", "berth-scheduler"), // advertises Hold support
			allow(read, core, "nodes", "namespaces", "pods", "persistentvolumeclaims", "persistentvolumes", "services", "replicationcontrollers"),
			allow("create", core, "pods/eviction"),
			allow(read, apps, "replicasets", "statefulsets", "daemonsets", "deployments"),
			allow(read, policyGroup, "poddisruptionbudgets"),
			allow(read, scheduling, "priorityclasses"),
			allow(read, storage, "storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"),
			allow(read, resource, "resourceclaims"),
			allow("get list", metricsGroup, "nodes", "pods"),
			allow(readWrite, berthGroup, "holds")),
		// One process runs many simulated nodes, so the node authorizer cannot restrict it.
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
		// The provisioner of local directories creates volumes. It may update a claim to return it to
		// the scheduler.
		"system:berth:local-directory": {
			recordEvents(),
			allow("create delete get list update watch", core, "persistentvolumes"),
			allow("get list update watch", core, "persistentvolumeclaims"),
			allow("get", core, "nodes"),
			allow(read, storage, "storageclasses"),
		},
		// The permissions of a node agent's service proxy beyond system:node.
		"system:berth:service-proxy": {allow("list watch", core, "services"), allow("list watch", discovery, "endpointslices")},
		"system:berth:certificates":  certificateRules(),
		// A component requests its next client certificate. Only its requests for itself are approved.
		"system:berth:certificate-renewal": {allow("create get list watch", certificates, "certificatesigningrequests")},
		// Cluster DNS resolves Services, their endpoints and pods.
		"system:berth:cluster-dns": {
			allow("list watch", core, "services", "pods", "nodes", "namespaces"),
			allow("list watch", discovery, "endpointslices"),
		},
		// The permissions of Berth's scheduler beyond kube-scheduler's: its own Lease, priority classes, Holds and the
		// status of disruption budgets. The scheduler records the victims of preemption in that status.
		"system:berth:scheduler": append(leaderElectionRules("berth-scheduler"),
			allow(read, scheduling, "priorityclasses"),
			allow(read, berthGroup, "holds"),
			allow("update", policyGroup, "poddisruptionbudgets/status")),
		// The Lease of Berth's controllers, Holds that keep evicted pods off a node, and the events
		// that hold displacement records.
		"system:berth:controllers": append(leaderElectionRules("berth-controller"), allow(readWrite, berthGroup, "holds"),
			allow(read, core, "pods", "nodes"), allow(read, eventsGroup, "events"), recordEvents()),
	}
}

// certificateRules returns the rules of the controller of CertificateSigningRequests. It approves the requests of nodes
// and components for themselves, signs approved requests, and removes old ones.
func certificateRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		recordEvents(),
		allow("delete get list watch", certificates, "certificatesigningrequests"),
		allow("update", certificates, "certificatesigningrequests/approval", "certificatesigningrequests/status"),
		allowNamed("approve", certificates, "signers", "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving", "berth.dev/simulated-nodes"),
		allowNamed("sign", certificates, "signers", "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving", "berth.dev/simulated-nodes"),
		allow(read, core, "nodes", "services"),
		allow(read, discovery, "endpointslices"),
	}
}
