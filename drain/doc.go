// Package drain drains nodes and previews what a drain would do.
//
// The machine evacuation.Drain decides the next action; two callers execute it. Drain.Run executes it on an API server:
// it cordons the nodes, requests evictions and watches the cluster. Preview executes it on a copy of the cluster with the
// scheduler's own machine and reports where each replacement goes.
//
// In three cases the drain can differ from its preview. If replacements preempt pods or compete for capacity, the
// result depends on timing. The preview simulates several timings (timing.go) and marks results that differ between
// them as uncertain. In about one of a thousand random clusters the drain still differs from all of them. Schedulers
// other than Berth's break ties randomly. If a replacement fails before it is scheduled, the drain cannot identify its
// successor. The preview cannot predict either in which round the siblings of a terminating pod continue.
//
// Differences from kubectl drain:
//
//   - DaemonSet pods are skipped without a flag (--ignore-daemonsets=false rejects them).
//   - Finished pods are not deleted.
//   - Permanent blocks are reported with the field to change instead of being retried forever.
package drain
