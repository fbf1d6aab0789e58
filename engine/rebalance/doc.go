// Package rebalance finds pods that had better run elsewhere: descheduling.
//
//	Snapshot ──▶ strategies, in the policy's order ──▶ Round ──▶ Mover ──▶ evicted (compatible) or planned
//
// A strategy proposes candidates one after another and hears of each what became of it. The Round stands
// between: the evictor's filters, the limits, and who has left already. What becomes of a candidate is
// for the Mover: in compatible mode it is evicted, just as the Kubernetes descheduler would; in planned
// mode (rebalance/plan) it moves only if the scheduler's own placement puts it elsewhere and the strategy's goal gets
// closer. Both modes run the same strategies.
//
// Invariants:
//
//   - Filtered: nothing is evicted that the profile's evictor protects.
//   - Limited: no node, namespace or round loses more pods than the policy allows.
//   - Ordered: same snapshot and policy, same candidates in the same order. Where the Kubernetes
//     descheduler leaves an order open (nodes, pods of a node), it is by name.
package rebalance
