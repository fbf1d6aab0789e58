// Package nodepressure decides, for one node, what to do when memory, disk, inodes or
// process ids run short: which of the node's conditions are true, what is to be
// collected first, which pod goes, and which new pods are not taken meanwhile. It is
// the eviction manager of the kubelet as a machine.
//
//	       Step(now, Observation)
//	               │
//	thresholds met ─┬─ none ──────────────────────────────► conditions
//	                ├─ soft, younger than its grace ──────► conditions, wake
//	                ├─ only page cache makes it (Confirm) ► wake: look again
//	                ├─ disk: Collect… ─► Collected: enough? ► conditions
//	                │                        └─ no ────────┐
//	                └─ memory, pids ───────────────────────┴► Evict one pod, or Unable
//
// A shell feeds it an Observation whenever it has read new figures, carries out the
// effects in their order, and calls again at wake, or when it next reads; and Collected
// when what Collect asked for is done. It must hand over all of the node's pods that still
// run, with DiesBy for those that are being ended.
//
// Invariants
//   - At most one pod is evicted a Step by a threshold; all that are over a limit of
//     their own local storage go together, and then no threshold is acted upon in that Step.
//   - A critical pod (static, mirror, priority of a system class) is never evicted.
//   - Figures that are not newer than those of the Step before evict nobody.
//   - Without pods' figures of a resource the pod goes first: it may be using anything.
//   - Nothing is allocated by a Step in which no threshold is met.
//   - What is decided depends on the observations alone: pods of equal rank go in the
//     order in which they are listed, thresholds in the order of Config.
//
// With no option set it decides as Kubernetes 1.36.3 does, to the message
// (conformance/eviction), but for two things that are not determined there: memory
// thresholds go before others, and among those met the first in Config's order. Options
// say where Berth does better; docs/reference/differences.md lists them.
//
// Reserve is the disk-space manager that Kubernetes had until 1.8: apart from
// thresholds, it refuses new pods while a disk has less than a fixed number of bytes.
package nodepressure
