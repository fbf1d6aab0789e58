// Package descheduler runs engine/descheduling against an API server: it watches the cluster, has strategies propose
// who should run on another node, and has those pods evicted.
//
//	watches ──▶ world ──▶ snapshot ──▶ Round of strategies ──▶ compatible: evict, one after another
//	                         │                              └─▶ planned: plan ──▶ carry: hold, evict, wait, verify
//	                         └─ who places pods: can places be held? (places.go)
//
// Compatible mode does what the Kubernetes descheduler does: what its strategies name is evicted, and it is not needed
// where it goes. Planned mode evicts a pod only if the scheduler's own placement puts its replacement on another
// node, holds that node where it can be held, waits for budgets, one pod of a workload at a time, and remembers what failed.
//
// Which of the two promises of planned mode is in force is notified with each round and as a metric:
// (a) a Reserve Hold keeps the place: Holds are served, this user may make them, and the pod's scheduler
// says in a Lease (v1alpha1.HonourLease) that it honours them; (b) otherwise no place is held. It is (a) for the pods of one
// scheduler and (b) for those of another where only one says so.
//
// A round does not wait for the moves of the last one: its plan is made with what is in progress recorded, and its strategies
// see the cluster as it will be then (rebalance.Snapshot.Foresee).
//
// Nothing is kept here that cannot be lost: after a crash the next round plans anew from what the API says, and Holds that
// a former run left are deleted, or end by themselves. What moves failed is known in (b) from the Avoid Holds that
// say so, with how often, if Holds are served: they stay for a day after their end. Else it is forgotten.
//
// Each eviction has an event Descheduled on its pod, the annotations requested-by and reason on its request, and so its
// displacement record, which the eviction API writes.
//
// Invariants, each with a test:
//
//   - DryRunsDoNothing: a dry run sends nothing but questions.
//   - OnlyOurHolds: no Hold is changed or deleted that others made.
package descheduler
