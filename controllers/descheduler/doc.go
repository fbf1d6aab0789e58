// Package descheduler runs engine/descheduling against an API server: it watches the cluster, runs
// the strategies of a DeschedulerPolicy and evicts pods.
//
//	watches ──▶ clusterState ──▶ snapshot ──▶ strategies ──▶ compatible: evict one by one
//	                                                     └─▶ planned: plan ──▶ evacuation: reserve, evict, wait, verify
//
// Compatible mode works as the Kubernetes descheduler does: it evicts every candidate. Planned
// mode evicts a pod only if the scheduler's own placement puts its replacement on another node. It
// reserves that node if possible, waits for budgets, moves one pod of a workload at a time, and
// backs off after failed moves.
//
// Each report and a metric state whether nodes can be reserved (HoldSupport). Reservations require
// that the API serves Holds and that the descheduler may create them. The pod's scheduler must also
// declare in a Lease (v1alpha1.HoldSupportLease) that it honors Holds. Pods of other schedulers move
// only if their scheduler cannot choose their current node again.
//
// A run does not wait for the moves of the previous one. It applies them to its snapshot
// (descheduling.Snapshot.ApplyInProgress) and plans on top of them.
//
// The process keeps no state that must survive. After a crash the next run plans from the API,
// and leftover Holds are deleted or expire. The run restores failures of moves without reservations
// from Avoid Holds, which record the number of failures for a day after they expire.
//
// Each eviction records an event Descheduled on its pod, and sets the annotations requested-by and reason on its
// request. The eviction API copies them to the displacement record.
//
// Invariants, each with a test:
//
//   - DryRunWritesNothing: a dry run only reads.
//   - HoldsOfOtherComponentsAreNotChanged: Holds of other creators are neither changed nor deleted.
package descheduler
