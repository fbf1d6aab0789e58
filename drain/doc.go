// Package drain drains nodes and previews what a drain would do.
//
// Machine decides the next action; two callers execute it. Drain.Run executes it on an API server:
// it cordons the nodes, requests evictions and watches the cluster. Preview executes it on a copy
// of the cluster with the scheduler's own machine and reports where each replacement goes.
//
//	round:  budget ledger ──▶ evict ──▶ settled ──▶ evict ──▶ settled ─ ... ─▶ all Ready ──▶ next round
//
// A round evicts at most one pod per workload, and no more pods per budget than it allows at the
// start of the round. Evictions are sequential: the next one starts when the replacement of the
// last one is scheduled or unschedulable, and no pending pod would fit. The round ends when the pods
// are deleted and their replacements are Ready. Replacements are therefore scheduled one after
// another, on the same states, however long pods take to stop and start, and the drain matches its
// preview as long as nothing else changes the cluster.
//
// In three cases the drain can differ from its preview. If replacements preempt pods or compete for
// capacity, the result depends on timing; the preview simulates several timings (timing.go) and
// marks results that differ between them as uncertain. In about one of a thousand random clusters
// the drain still differs from all of them. Schedulers other than Berth's break ties randomly. If a
// replacement fails before it is scheduled, the drain cannot identify its successor.
//
// The machine does not wait until each pod is deleted, since pods on a cordoned node rarely affect
// placement. It does wait for pods that other pods' affinity refers to beyond their node, for pods
// with claims, and for all pods if some pod tolerates the cordon (termination_effects.go).
//
// The drain also waits for pods that terminate without an eviction by the drain (terminating.go). Their
// siblings wait only while a pod of the workload is not Ready. The preview cannot predict the round in
// which they continue.
//
// Invariants:
//
//   - OnePerWorkload: no pod of a workload is evicted while the replacement of another one is not
//     Ready.
//   - WithinBudget: no eviction is requested that the observed budgets do not allow.
//   - NoReturn: no pod is evicted whose replacement would run on a drained node.
//   - Stateless: all state is read from the cluster; a new drain continues an interrupted one.
//
// Differences from kubectl drain:
//
//   - DaemonSet pods are skipped without a flag (--ignore-daemonsets=false rejects them).
//   - Finished pods are not deleted.
//   - Permanent blocks are reported with the field to change instead of being retried forever.
package drain
