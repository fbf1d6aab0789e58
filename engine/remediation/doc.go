// Package remediation finds the smallest changes to a cluster or a pod that make an unschedulable pod
// schedulable. It only makes suggestions; Berth does not apply them.
//
//	verdict on a node ──▶ changes that resolve it ──▶ evaluated on a fork ──▶ scheduled: a suggestion
//	      ▲                                              │
//	      └─────── the next verdict on that node ◀───────┘
//
// Changes are generated from verdicts, cheapest first. Each has a cost that reflects its effort and
// disruption (cost.go). A set of changes that is not enough is extended by the node's next verdict. The files
// labels.go (taints and labels), resources.go, affinity.go and volumes.go generate the changes for the verdicts
// of these plugins.
//
// Invariants:
//
//   - Verified: a suggestion was applied to a fork of the state, and placement.Evaluate scheduled the pod.
//   - Minimal: without any one of its changes a suggestion does not make the pod schedulable.
//   - Deterministic: the same state, pod and seed give the same suggestions.
//
// The number of trials bounds the search. A pod without suggestions may still have a solution.
package remediation
