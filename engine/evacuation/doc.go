// Package evacuation moves pods off nodes: it evicts a pod, follows its replacement, and delays the eviction of other
// pods meanwhile.
//
//	waiting ──▶ holding ──▶ evicting ──▶ terminating ──▶ replaced ──▶ placed ──▶ finished
//	   ▲   (planned moves)     │ refused      │ not observed
//	   └───────────────────────┴──────────────┘
//
// Both policies below share Machine, which evicts the pod of a Move with retries, identifies its replacement, and
// applies the timeouts. It has the form Step(now) -> (actions, wake); the caller executes each Action and reports its
// Result. It reads the cluster from a View. State that must survive a restart is in the API: evictions, Holds, and the
// labels of surges.
//
// Two policies decide which pods are evicted, when, and what else an eviction needs:
//
//   - Drain evicts all pods of nodes, wherever their replacements run. It works in rounds and can surge.
//   - Planned executes a plan of engine/descheduling/planning, which names a node for each replacement. It reserves that
//     node with a Hold, checks the placement again before each eviction, and backs off after failures.
//
// # Drain
//
// A round evicts at most one pod per workload, and no more pods per budget than it allows at the start of the round.
// Evictions are sequential: the next one starts when the replacement of the last one is scheduled or unschedulable, and
// no pending pod would fit. The round ends when the pods are deleted and their replacements are Ready. Replacements are
// therefore scheduled one after another, on the same states, however long pods take to stop and start. What-if runs the
// same machine on a fork of the cluster, so the drain matches its preview as long as nothing else changes the cluster.
//
// The drain does not wait until each pod is deleted, since pods on a cordoned node rarely affect placement. It does
// wait for pods that other pods' affinity refers to beyond their node, and for pods with claims. If some pod tolerates
// the cordon, it waits for all pods. It also waits for pods that terminate without an eviction by the drain. Their
// siblings wait only while a pod of the workload is not Ready.
//
// # Invariants
//
//   - OnePerWorkload: no pod of a workload is evicted while the replacement of another one is not Ready.
//   - WithinBudget: no eviction is first requested while the observed budgets, less the moves in progress, do not allow
//     it. The API server decides about later attempts of a drain.
//   - NoReturn: a drain evicts no pod whose replacement would run on a drained node.
//   - NotFutile: no planned move evicts a pod unless placement puts its replacement on another node. Placement reads
//     the current cluster with all moves in progress applied. Without a reservation, the node must be a planned one.
//   - NotOvercommitted: the target node of a planned move has capacity for the replacement, besides its pods,
//     terminating ones included, and the other moves to it.
//   - HoldsEnd: every Hold is deleted when it is used or its move has finished, and expires soon afterwards in any case.
//   - Stateless: a new machine continues an unfinished drain of another one, and releases the Holds of an earlier plan.
package evacuation
