// Package planning decides which candidates of the descheduler move, and where: Planner is the
// descheduling.Mover of planned mode. A candidate becomes a move only if the scheduler's own
// placement agrees.
//
//	candidate ──▶ eligible? ──▶ removed from the fork ──▶ placement: another node? ──▶ gain? ──▶ budgets ──▶ planned
//	                 │                                              │                    │          │
//	                 └───────────────────────┬──────────────────────┴────────────────────┴──────────┘
//	                                         ▼
//	                        refused with a reason; the fork is restored
//
// The fork is a copy of the cluster with all accepted moves applied. It has no moved pod, but the
// expected replacement on the new node. A move is therefore evaluated with the capacity that
// earlier moves use and free. Capacity that a move frees is available only after that move is
// executed. Package evacuation therefore checks each move again before it starts.
//
// If the scheduler honors Holds (WithHolds), the chosen node is certain. The owner's UID breaks ties, and the scheduler
// uses a reserved node first. A node to be emptied can therefore be excluded as a target even if the scheduler prefers
// it. Otherwise (WithoutHolds), every node with the highest score must differ from the current node and improve the
// goal. This must be true while the pod terminates and after it is deleted.
//
// Invariants:
//
//   - NotFutile: placement would not return a moved pod to its node, and each move improves the
//     strategy's goal. Moves that failed recently (MoveBackoff, or an Avoid Hold with HoldCause) are
//     not planned.
//   - NotOvercommitted: the expected replacements on a node fit there together.
//   - Restored: refused candidates and withdrawn groups do not change the fork.
//   - AllRefusalsCounted: each refusal is counted by reason; Options.MaxRefusals are kept in full.
//
// Pods without a controller are not moved even if the evictor allows it, except finished ones.
package planning
