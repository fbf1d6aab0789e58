// Package remediation finds the smallest changes to a cluster, or to a pod, after
// which a pod that fits nowhere would be placed. It answers people; nothing acts
// on it.
//
//	verdict of a node ──▶ changes that undo it ──▶ tried on a fork ──▶ placed: a remedy
//	      ▲                                              │
//	      └───────── the next verdict of that node ◀─────┘
//
// Candidates are generated from verdicts, cheapest first; each has a cost that
// stands for the trouble and the disruption it means (cost.go). A candidate that
// does not suffice is continued with what the node says next. The files named
// for rules (taints, labels, room, ...) say which changes undo which verdict.
//
// Invariants:
//
//   - Verified: a remedy was applied to a fork of the state, and
//     placement.Evaluate placed the pod there.
//   - NothingSpare: without any one of its changes a remedy does not place the pod.
//   - Same state, pod and seed give the same remedies.
//
// The search is bounded by a number of trials, not by time. That a pod has no
// remedy in the result does not mean that there is none.
package remediation
