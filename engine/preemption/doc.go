// Package preemption decides who must leave so that a pod fits that fits nowhere:
// on which node, which pods, and what that takes from disruption budgets.
//
// Evaluate is the plain path: every node that the rules refuse, but not for good, is
// tried by placement's own rules without the pods of lower priority, and then with as many
// of them back as possible. It is the reference for ever. Planner is the fast path: it
// answers the same, at a cost in what has changed since it was asked last. Among chooses
// among candidates that somebody else has changed.
//
//	eligible? ──▶ per node: remove lower ──▶ fits? ──▶ reprieve (violating first) ──▶ victims
//	          ──▶ six criteria ──▶ movable victims ──▶ tie rule ──▶ debits
//
// Invariants:
//
//   - LowerOnly: a victim's priority is below the pod's.
//   - AllNodes: every node that could be helped is looked at.
//   - LeastHarm: no victim could be put back beside the pod and the other victims' absence.
//   - SeedDecides: among equals the choice is a function of the seed, the pod's uid and the nodes' names.
//   - FastEqualsPlain: Plan and Evaluate give the same Preemption, but for what only a
//     look at all nodes tells of a success.
//   - ExactDebits: what victims take from budgets is counted of the victims alone, and never
//     paid past what a budget allows.
//
// Departures from Kubernetes: all nodes are candidates, not a tenth of them from a random
// one on; a pod that a rule refuses on all nodes at once is not tried (with
// kube-scheduler's default plugins the attempt fails there, too). With both options off the
// answers are kube-scheduler's; Options says what they change. Pods without a start time count as
// started last, and those started at the same time are ordered by uid.
package preemption
