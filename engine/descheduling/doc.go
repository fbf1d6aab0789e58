// Package descheduling selects pods to evict so that their replacements run on better nodes.
//
//	Snapshot ──▶ strategies (plugins), in the policy's order ──▶ Round ──▶ Mover ──▶ evicted or planned
//
// A Strategy proposes candidates one at a time and receives the outcome of each. The Round applies
// the evictor's filters and the policy's limits and keeps track of the pods that moved. The Mover
// decides what happens to a candidate. In compatible mode the caller's Mover evicts it, as the
// Kubernetes descheduler does. In planned mode the Mover is planning.Planner. A candidate moves
// only if the scheduler's placement puts its replacement on another node and the strategy's goal
// improves.
//
// RunPolicy runs one run. It considers the nodes that are ready and that the policy selects,
// and does nothing with fewer than two. It runs the Deschedule strategies of all profiles, then
// their Balance strategies. A strategy reads the cluster only through the Round:
//
//	PodsOn, NodeOf      pods and their nodes, moves so far included
//	Evictable           the evictor's Filter: protections, priority, age, replicas, budgets
//	PreEvictionFilter   nodeFit and the namespace selector
//	Evict               the limits, then the Mover
//	Atomically          moves that are only useful together
//
// Invariants:
//
//   - Filtered: a run does not evict pods that the profile's evictor protects.
//   - Limited: no node, namespace or run loses more pods than the policy allows.
//   - Ordered: equal snapshots and policies give equal candidates in equal order. Where the
//     Kubernetes descheduler leaves an order open (nodes, pods of a node), it is by name.
//   - Unchanged: a run does not modify its snapshot.
//
// Differences from the Kubernetes descheduler: if a priority threshold names a PriorityClass that
// does not exist, only that profile is skipped; upstream rejects the policy. In planned mode
// nodeFit is not evaluated because the planner finds the node, and a pod that moved still counts
// as a replica.
package descheduling
