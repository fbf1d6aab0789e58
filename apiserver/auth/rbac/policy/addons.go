package policy

import rbacv1 "k8s.io/api/rbac/v1"

// addonRoles returns the roles of Kubernetes that administrators bind to approvers of certificates and to components
// that Berth does not have.
func addonRoles() []*rbacv1.ClusterRole {
	const prefix = "system:certificates.k8s.io:"
	out := []*rbacv1.ClusterRole{
		clusterRole(prefix+"certificatesigningrequests:nodeclient", allow("create", certificates, "certificatesigningrequests/nodeclient")),
		clusterRole(prefix+"certificatesigningrequests:selfnodeclient", allow("create", certificates, "certificatesigningrequests/selfnodeclient")),
		clusterRole("system:heapster",
			allow(read, core, "events", "namespaces", "nodes", "pods"),
			allow(read, extensions, "deployments")),
		clusterRole("system:kube-aggregator", allow(read, core, "endpoints", "services")),
		clusterRole("system:kube-dns", allow("list watch", core, "endpoints", "services")),
		clusterRole("system:node-bootstrapper", allow("create get list watch", certificates, "certificatesigningrequests")),
		clusterRole("system:node-problem-detector",
			allow("get", core, "nodes"),
			allow("patch", core, "nodes/status"),
			recordEvents()),
		clusterRole("system:persistent-volume-provisioner",
			allow("create delete get list watch", core, "persistentvolumes"),
			allow("get list update watch", core, "persistentvolumeclaims"),
			allow(read, storage, "storageclasses"),
			allow("watch", core, "events"),
			recordEvents()),
	}
	for _, signer := range []string{"kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown"} {
		out = append(out, clusterRole(prefix+signer+"-approver", allowNamed("approve", certificates, "signers", "kubernetes.io/"+signer)))
	}
	return out
}
