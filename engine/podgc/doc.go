// Package podgc selects the pods that pod garbage collection deletes.
//
//	Collect(now, pods, nodes) -> removals, each pod once, by the first rule that applies
//
//	OutOfService  terminating on a node that is not ready and has the out-of-service taint
//	Orphan        its node has been missing for Quarantine; the controller checks with the API server before it acts
//	Unscheduled   terminating and never bound
//	Terminated    finished, and more than Threshold pods are: evicted pods first, then the oldest
//	Evicted       evicted, and its owner has more than EvictedCap evicted pods, or it is older than EvictedTTL
//
// Invariants, each with a test:
//
//   - NotTooMany: finished pods are deleted only above the threshold, the cap and the age.
//   - Quarantine: the pods of a node that returns within Quarantine are not deleted.
//
// Differences from Kubernetes: EvictedCap and EvictedTTL (kubernetes#54525), which are off by default.
package podgc
