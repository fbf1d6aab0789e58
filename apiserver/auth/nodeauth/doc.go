// Package nodeauth restricts the credential of a node, so that a compromised node cannot take over
// the cluster. A user system:node:X in group system:nodes is node X.
//
//	Authorizer   authorizes requests. A node may read only the Secrets, ConfigMaps, ServiceAccounts,
//	             claims and volumes that its pods reference, according to Graph.
//	Restriction  is the NodeRestriction admission plugin. Of Nodes, Leases, CSINodes, ResourceSlices
//	             and CertificateSigningRequests, a node may write only its own. It may write its
//	             pods, tokens of their service accounts, and the size in the status of claims.
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
//   - A node cannot read a Secret, ConfigMap, ServiceAccount, claim or volume that none of its pods
//     references.
//   - The access ends with the last such pod.
//   - A node cannot write displacement records about other nodes, pods or owners.
//   - A node cannot change other nodes, its labels below node-restriction.kubernetes.io/, or its
//     taints after registration.
//
// Difference from Kubernetes: nodes may write events of events.k8s.io, too.
package nodeauth
