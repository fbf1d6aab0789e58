// Package demo plays five acts on a cluster of Berth's and narrates them: pods are
// placed; a pod that takes its node's memory goes, and no other; a full disk costs images before it
// costs a pod; a node is drained under a budget, as it was previewed; a pod that matters more
// makes capacity for itself.
//
// Nothing that it says is canned: each number and name is read from the cluster, by
// a watch, from the nodes' figures, the records of displacements and the decisions
// themselves. An act looks for what it claims to show, and fails if that is not so.
//
//	open ─▶ act ─▶ clear ─▶ act ─▶ clear ─ ... ─▶ strike
//
// It is played on nodes that are made for it and carry Label and Taint, in a namespace own
// with priorities below all others', so that no pod and no node of anybody else takes part. Where the
// nodes run processes the pods really take memory and write; on simulated nodes the same usage is scripted.
//
// Invariants:
//
//   - Strike removes all that was made, after Ctrl-C and after acts that failed, too. What
//     a demo that was killed has left goes at the next one.
//   - No pod is deleted: pods go with their owners, by evictions, or with the namespace.
//
// Who starts it makes the nodes, and removes them afterwards (cmd/berth).
package demo
