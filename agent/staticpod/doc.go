// Package staticpod reads the manifests of static pods from a directory or file of the node, as the kubelet does with
// staticPodPath.
//
//	files ─▶ Source ─▶ pods with defaults, validated, with name NAME-NODE and UID ─▶ agent
//
// The UID of a static pod is a hash of its manifest, its file and the node, so a changed manifest is another pod.
//
// Invariants, each covered by a test:
//
//   - Input is checked: a file is regular and at most 10 MiB, and only one pod of a name is accepted. A FIFO, a
//     device or a directory does not block the Source.
//   - A pod that refers to other API objects is rejected, because a node may not read them for it.
//   - Files whose names begin with a dot are ignored.
//
// Difference from Kubernetes: while a manifest cannot be read or is invalid, its last valid pod keeps running
// until the agent restarts. The kubelet removes the pod.
package staticpod
