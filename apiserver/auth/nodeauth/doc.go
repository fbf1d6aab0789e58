// Package nodeauth bounds what the credential of one node can see and change:
// a node that is taken over must not give away the cluster.
//
// A user system:node:X in group system:nodes is node X. Two parts bound it:
//
//	Authorizer   may X ask this at all? Reads of secrets, configmaps, claims and
//	             volumes follow the Graph: only what a pod bound to X refers to.
//	Restriction  (admission) does the object that X writes belong to X? Its own
//	             Node, Lease, CSINode; status, deletion and eviction of its own pods;
//	             tokens for accounts of its own pods, for whom these present them to.
//
//	pod ──▶ node        kept by informers: pods, PVs, VolumeAttachments
//	 ├▶ secret, configmap, serviceaccount, resourceclaim
//	 └▶ pvc ◀── pv ──▶ secret
//
// Invariants, each held by a test:
//
//   - An object that no pod bound to X refers to is invisible to X.
//   - When the last such pod is gone, so is the right.
//   - A node never changes another Node, its own labels under
//     node-restriction.kubernetes.io/, or its taints after registration.
//
// Departures from Kubernetes: node credentials may write events of
// events.k8s.io as well as the core group's; no certificate signing requests.
package nodeauth
