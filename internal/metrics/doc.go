// Package metrics has what all parts count alike: how displacements are counted, and what the page of a process
// says of the process.
//
// Invariants, each held by a test:
//
//   - Once: a displacement is counted when its record is written first, and by nobody else; see actuate.Displacer.
//   - Zeros: each cause is there from the start, so that a first displacement shows as an increase.
//
// Departures from Kubernetes: it counts each displacer's pods under a name of its own, and has none for what was asked of the eviction
// API; those names are there, too, and beside them one for all, berth_displacements_total.
package metrics
