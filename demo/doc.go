// Package demo runs five acts on a Berth cluster and describes them:
//
//   - The scheduler places pods.
//   - A node evicts the pod that uses up the node's memory, and no other.
//   - A node with a full disk deletes unused images before it evicts a pod.
//   - A drain under a budget matches its preview.
//   - A pod of higher priority preempts another pod.
//
// All numbers and names are read from the cluster: from a watch, node statistics, displacement
// records and scheduling decisions. An act fails if it does not observe what it claims to show.
//
//	newSession ─▶ act ─▶ clearAct ─▶ act ─▶ clearAct ─ ... ─▶ cleanup
//
// Other pods and nodes are not affected. The demo's nodes have Label and Taint. Its pods have a
// separate namespace and priorities below all others. Where the nodes run processes, pods really use
// memory and disk; on simulated nodes the same usage is scripted.
//
// Invariants:
//
//   - Cleanup removes everything that was created, also after Ctrl-C and failed acts. The next demo
//     removes the objects of a killed one.
//   - No pod is deleted directly: pods end with their owners, by evictions, or with the namespace.
//
// The caller (cmd/berth) creates and removes the nodes.
package demo
