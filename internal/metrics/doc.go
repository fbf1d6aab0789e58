// Package metrics holds the metrics that all components share: displacements, and metrics of the process.
//
// Invariants, each covered by a test:
//
//   - Once: a displacement is counted when its record is first written, and by that writer only, see
//     displacer.Displacer.
//   - Zeros: each cause exists from the start, so that the first displacement is visible as an increase.
//
// Difference from Kubernetes: Kubernetes counts the pods of each displacer under a separate name and has no metric for
// the eviction API. Berth has those metrics, too, and berth_displacements_total counts all displacements.
package metrics
