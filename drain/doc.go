// Package drain drains nodes and previews what a drain would do.
//
// The machine evacuation.Drain decides the next action; two callers execute it. Drain.Run executes it on an API server:
// it cordons the nodes, requests evictions and watches the cluster. Preview executes it on a copy of the cluster, uses the
// scheduler's own code, and reports the node of each replacement.
//
// The drain can differ from its preview in these cases:
//
//   - Replacements preempt pods or compete for capacity, so the result depends on timing. The preview simulates several
//     timings (timing.go) and marks results that differ between them as uncertain. In about one of a thousand random
//     clusters the drain still differs from all of them.
//   - A scheduler other than Berth's breaks ties randomly.
//   - A replacement fails before it is scheduled, so the drain cannot identify its successor.
//   - The siblings of a terminating pod continue in a round that the preview cannot predict.
//
// Differences from kubectl drain:
//
//   - The drain skips DaemonSet pods without a flag (--ignore-daemonsets=false rejects them).
//   - It does not delete finished pods.
//   - It reports permanent blocks with the field to change, and does not retry them forever.
package drain
