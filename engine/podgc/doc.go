// Package podgc decides which pods are taken away because nobody else will.
//
//	Sweep(now, pods, nodes) -> removals, each pod once, by the first rule that applies
//
//	OutOfService  it is being deleted on a node that is not ready and has the taint out-of-service
//	Orphan        its node has been gone for Quarantine, by what sweeps saw; the shell asks the server before it acts
//	Unscheduled   it is being deleted and was never bound
//	Terminated    it has ended, and more than Threshold have: first those that a node has evicted, then the oldest
//	Evicted       a node has evicted it, and its owner has more than EvictedCap of those, or it is older than EvictedTTL
//
// Invariants, each held by a test:
//
//   - NotTooMany: of pods that have ended no more go than are above the threshold, the cap and the age.
//   - OnceAway: a node that comes back within Quarantine loses nothing.
//
// Departures from Kubernetes: EvictedCap and EvictedTTL (kubernetes#54525), which are off by default.
package podgc
