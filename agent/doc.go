// Package agent is the shell on a node: it registers the node, renews its
// Lease, sees the pods that are bound to it, carries out what engine/podlife
// decides through a runtime, and reports the pods' status.
//
// One agent serves one node, or, with the simulated runtime, any number of
// nodes in one process: they share one watch, one machine loop and one pool of
// writers.
//
//	watch of pods ─┐
//	runtime reports ├─▶ one loop: podlife.Step ─▶ runtime: start, stop, kill
//	timers ─────────┘                         └─▶ writers: status, deletion
//
// A pod whose claims are not bound does not start before they are.
//
// The API is the only memory: after a restart lives resume from the status of
// their pods. Writes are coalesced, one in flight for each pod; a conflict waits
// for the watch to catch up and tries again.
package agent
