// Package nodepressure is the kubelet's eviction manager as a state machine for one node. When memory, disk, inodes or
// process IDs run short, it decides which conditions are true and what to reclaim first. It also decides which pod to
// evict, and which new pods to reject.
//
//	       Step(now, Observation)
//	               │
//	thresholds met ─┬─ none ───────────────────────────────► conditions
//	                ├─ soft, within its grace period ──────► conditions, wake
//	                ├─ page cache only (ConfirmPageCache) ─► wake: check again
//	                ├─ disk: ReclaimNodeResources ─► Reclaimed: enough? ► conditions
//	                │                                   └─ no ─────┐
//	                └─ memory, pids ───────────────────────────────┴► Evict one pod, or NoVictim
//
// The caller passes an Observation whenever it has new measurements, executes the effects in order, and calls again at
// wake or with the next measurements. It calls Reclaimed once ReclaimNodeResources is done. It must list all running
// pods, with TerminatesBy for terminating ones.
//
// Invariants:
//
//   - A Step evicts at most one pod for a threshold. All pods over their local storage limits are
//     evicted together, and that Step handles no threshold.
//   - Critical pods (static pods, mirror pods, and pods with at least the priority of system-cluster-critical)
//     are never evicted.
//   - Measurements that are not newer than in the previous Step evict no pod.
//   - A pod without usage statistics is evicted first: it may use any amount.
//   - A Step in which no threshold is met does not allocate.
//   - Decisions depend on the observations only: pods of equal rank are evicted in list order, and thresholds
//     are handled in the order of Config.
//
// Without Options the package decides as Kubernetes 1.36.3 does, including the messages. Package conformance checks
// this with testdata/eviction.
// Where the order in Kubernetes is random, memory thresholds are first, then the order of Config. Options enable
// improvements; docs/reference/differences.md lists them.
//
// DiskReserve is the disk-space manager of Kubernetes before 1.8. Apart from thresholds, it rejects new pods
// while a disk has less than a fixed number of free bytes.
package nodepressure
