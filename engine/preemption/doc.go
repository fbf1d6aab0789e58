// Package preemption selects the pods to evict so that an infeasible pod fits: the node, the victims, and
// the debits of disruption budgets.
//
// Evaluate is the reference evaluator. It dry-runs every node that is not unresolvable with the plugins of
// placement. First it removes all pods of lower priority, then it reprieves as many of them as possible.
// Planner is the fast path. It returns the same result at a cost proportional to what changed since its last
// call. SelectCandidate selects among candidates that an extender has changed.
//
//	eligible? ──▶ per node: remove lower ──▶ fits? ──▶ reprieve (violating first) ──▶ victims
//	          ──▶ five criteria ──▶ movable victims ──▶ tie-breaker ──▶ debits
//
// Invariants:
//
//   - LowerOnly: a victim's priority is below the preemptor's.
//   - AllNodes: every node where preemption may make the pod schedulable is evaluated.
//   - LeastHarm: no single victim could be reprieved.
//   - SeedDecides: ties are broken by the seed, the pod's UID and the node names.
//   - FastEqualsReference: Plan and Evaluate return the same Preemption, apart from counts that a
//     successful plan does not need.
//   - ExactDebits: budgets are debited for the victims only, and never below zero.
//
// Differences from Kubernetes: all nodes are candidates, not a random tenth of them. A pod that a PreFilter
// plugin rejects is not tried, as with kube-scheduler's default plugins. Pods without a start time count as
// started last; pods with equal start times are ordered by UID. Otherwise, with both Options off, the results
// are kube-scheduler's.
package preemption
