// Package fastpath implements placement.Evaluate incrementally. Engine returns the same decisions,
// but its cost depends on what has changed, not on the size of the cluster.
//
// A decision has these steps:
//
//   - The pod is reduced to its equivalence class (class*.go).
//   - The nodes are read from the score cache of the class (score_cache.go). If there is none, a
//     scan reads the rows of cluster.Index (scan.go, partition.go). Both return node buckets: nodes
//     for which the class reads equal values.
//   - The buckets are filtered and scored by domain, and the best node is selected
//     (evaluate_buckets.go, spread.go). Without a feasible node the reasons are counted
//     (reasons.go).
//
// Three files decide special pods: nominated.go those with nominated or reserved nodes, volumes.go
// those with volumes, and named_nodes.go those limited to named nodes.
//
// A fuzz test compares every decision with the reference evaluator.
package fastpath
