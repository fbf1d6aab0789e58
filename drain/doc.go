// Package drain empties nodes of their pods, and previews what that comes to.
//
// One machine says what is to be done next (Machine); it has two shells. Run carries it
// out on an API server: it cordons, posts evictions, watches. Preview carries it out on a
// copy of the cluster with the scheduler's own machine, and says where each pod goes.
//
//	round:  budget ledger ──▶ evict ──▶ settled ──▶ evict ──▶ settled ─ ... ─▶ all Ready ──▶ next round
//
// In a round at most one pod of a workload goes, and no longer under a budget than it allows when
// the round begins. One eviction follows the other: the next is asked for when the
// replacement of the last one has a node, or is known to have none, and no pod waits that
// would fit. The round ends when the pods are gone and their replacements are Ready. So
// the replacements are decided one after another, on the same states, whatever pods take to
// stop and to start, and what was previewed is what happens, as far as the cluster has no
// news own in the meantime. It is not certain where replacements preempt others and pods of equal
// priority then contend for the same room: who stops first and who was tried last is not known
// beforehand. So other courses of events are tried (chance.go), and what comes otherwise in one of them is marked as
// not certain; in about one of a thousand random clusters it still comes otherwise than any of them. Nor is the node among equals known of schedulers other than Berth's, which break
// ties by chance, nor what a pod does that stops before its replacement is placed.
//
// Most pods need not be gone before the next one goes, as nothing can notice on a
// cordoned node. The exceptions are waited for (notice.go): pods that others' affinity
// concerns beyond their node, that hold claims, and all of them where another component tolerates
// the cordon.
//
// Pods that are terminating before the drain, or that another client deletes, are waited for to be
// gone and nothing else (leaving.go); others of their workload wait for that only while one of it is not
// Ready. How soon they are gone is not known, so in which round such others go may come otherwise than previewed.
//
// Invariants:
//
//   - OneOfAWorkload: no pod of a workload is evicted while a replacement of another one
//     of it is not Ready.
//   - WithinBudget: no eviction is asked for that the budgets as seen do not allow.
//   - NotStraightBack: no pod is evicted whose replacement would be put on a drained node.
//   - NothingKept: what is known is read from the cluster; a drain that was cut off is
//     taken up by a new one.
//
// Departures from kubectl drain: pods of DaemonSets stay without being asked for
// (--ignore-daemonsets=false refuses), as they tolerate the cordon and would be back at
// once; finished pods stay where they are; what can never be evicted is notified with the field to
// change and is not waited for.
package drain
