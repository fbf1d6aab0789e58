// Package cluster holds the state of a cluster: nodes, the pods assigned to them, and all
// other objects that placement reads. It is the counterpart of kube-scheduler's cache and
// snapshot.
//
// A State has no lock, clock or goroutine; its owner serializes calls. Results depend only
// on the objects and assumptions, never on the order in which they arrived:
//
//   - A pod is assigned to at most one node, a finished pod to none.
//   - NodeInfo.Used, Scoring and Ports are the sums over NodeInfo.Pods.
//   - Pods of an unknown node are stored until the node is added. Usage may exceed what is
//     allocatable, because other schedulers bind pods, too.
//   - An assumption ends when the pod is reported as bound, or with Forget or RemovePod.
//   - The volumes and selected nodes in the plan of an assumed pod are reserved. The
//     reservation ends when they are reported, or when the plan or the pod is forgotten.
//   - A Hold counts until it is removed or ExpireHolds ends it.
//   - A change of a fork does not affect its parent, and vice versa.
//
// Index maintains what the fast path of placement needs: rows of numbers, topologies,
// domain counters and the change log. It is created on first use and not inherited by
// forks.
//
//   - A counter always equals a recount over all pods.
//   - A reader that reevaluates the nodes in the change log has all current numbers,
//     domains and counts of fine-grained domains. Static changes are marked as such.
//   - Pods are distinguished only by labels that some selector in use reads.
package cluster
