// Package tainteviction decides which pods NoExecute taints evict, and when. It is kube-controller-manager's
// taint eviction controller as a state machine.
//
//	Step(now, events) -> (effects, wake)
//
// A pod is due at the earliest time that one of its node's NoExecute taints requires. This time is now if
// the pod does not tolerate the taint, and never if the first matching toleration has no tolerationSeconds.
// Otherwise it is that many seconds after the taint was added or the pod was bound, whichever is later. The
// time is computed from the current objects. It changes when a toleration is edited or a taint removed, and
// a restart does not change it.
//
//	free ──taint──▶ waiting ──due──▶ Evict ──▶ in flight ──EvictFailed──▶ waiting (100 ms doubling to 30 s)
//	  ▲               │                            │
//	  └────Cancel─────┘                            └─▶ pod terminating or deleted
//
// Invariants (TestIncrementalMatchesReference checks them with random events):
//
//   - The incremental state equals one computed from all objects.
//   - An Evict is sent once, and again only after it has failed.
//   - No pod is evicted before it is due.
//   - A not-ready or unreachable taint that is older than the machine evicts no pod before
//     Options.StartupGrace ends, because the node's status may be stale.
//
// Difference from Kubernetes: there the due time is set once, when the taint is first observed. It does not
// follow edits (kubernetes#102993, #90794), and starts over after a restart. Options.FrozenDeadline does the same.
// Kubernetes stops after the eviction of a pod has failed five times; this package retries it.
package tainteviction
