// Package nodeauth restricts the credential of a node, so that a compromised node cannot take over
// the cluster. A user system:node:X in group system:nodes is node X.
//
//	Authorizer   authorizes requests. A node may read only the Secrets, ConfigMaps, ServiceAccounts,
//	             claims and volumes that its pods reference, according to Graph.
//	Restriction  is the NodeRestriction admission plugin. A node may write only its own Node, Lease,
//	             CSINode and ResourceSlices, its pods, tokens of their service accounts, and the
//	             status of claims whose resize it finishes.
//
// Informers of pods, PersistentVolumes and VolumeAttachments update Graph:
//
//	pod -> node
//	pod -> secret, configmap, serviceaccount, resourceclaim
//	pod -> pvc <- pv -> secret
//	volumeattachment -> node
//
// Invariants:
//
//   - A node cannot read an object that none of its pods references.
//   - The access ends with the last such pod.
//   - A node cannot write displacement records about other nodes, pods or owners.
//   - A node cannot change other nodes, its labels below node-restriction.kubernetes.io/, or its
//     taints after registration.
//
// Difference from Kubernetes: nodes may write events of events.k8s.io, too.
package nodeauth
