// Package descheduling finds pods that had better run elsewhere: descheduling.
//
//	Snapshot ──▶ strategies, in the policy's order ──▶ Round ──▶ Mover ──▶ evicted (compatible) or planned
//
// A strategy proposes candidates one after another and hears of each what became of it. The Round stands
// between: the evictor's filters, the limits, and who has left already. What becomes of a candidate is
// for the Mover: in compatible mode it is evicted, just as the Kubernetes descheduler would; in planned
// mode (rebalance/plan) it moves only if the scheduler's own placement puts it elsewhere and the strategy's goal gets
// closer. Both modes run the same strategies.
//
// RunPolicy is a pass: the nodes that are ready and that the policy selects, fewer than two: nothing; then all
// profiles' strategies that deschedule, then all that balance. Strategies know the cluster through the Round only, which
// shows it as it is by now:
//
//	PodsOn, NodeOf   who is where, moves so far included
//	Evictable        the evictor's filters: protections, priority, age, replicas, budgets
//	Fits             nodeFit and the namespace's labels
//	Evict            the limits, then the Mover
//	Together         moves that make sense only all at once
//
// What is clever has a stupid twin in the tests (conflicts: every pod asked). Which pods go in compatible mode was
// compared with the Kubernetes descheduler 0.36 (conformance, TestDescheduler).
//
// Invariants:
//
//   - Filtered: nothing is evicted that the profile's evictor protects.
//   - Limited: no node, namespace or round loses more pods than the policy allows.
//   - Ordered: same snapshot and policy, same candidates in the same order. Where the Kubernetes
//     descheduler leaves an order open (nodes, pods of a node), it is by name.
//   - Unchanged: a round does not write to its snapshot.
//
// Departures from the Kubernetes descheduler, in both modes: a profile whose priority threshold names a PriorityClass
// that is not there does not run, and the others do; there, the policy is refused. In planned mode, besides:
// nodeFit is not asked, as the plan finds a place or refuses; a pod that moved still counts as a
// replica; whether a pod with required affinity has any other place is left to the plan.
package descheduling
