// Package tainteviction decides whom a NoExecute taint drives off a node, and when.
//
//	Step(now, events) -> (effects, wake)
//
// A pod on a node is due at the earliest moment that one of the node's NoExecute
// taints gives it: at once if it does not bear the taint; never if the first of its
// tolerations that bears it has no tolerationSeconds; else so many seconds after the
// later of two things, that the taint was put on and that the pod was bound.
// The moment follows from the objects as they are now: it moves when a toleration
// is edited, when one of several taints is taken off, and it is the same after a restart.
//
//	free ──taint──▶ waiting ──due──▶ Evict ──▶ asked ──Failed──▶ waiting (100 ms doubling to 30 s)
//	  ▲               │                          │
//	  └────Cancel─────┘                          └─▶ pod deleting or gone
//
// Invariants, each held by a test:
//
//   - ScratchEqualsKept: what is kept up to date equals what is computed anew from
//     all objects (the fuzz test's twin).
//   - OnceAPod: a pod is asked for once, until that is told to have failed.
//   - NotBeforeDue: no pod is evicted before the moment given above.
//   - StartIsQuiet: a taint of a lost node that is older than the machine drives nobody
//     out before Options.StartupGrace is over; the node's health may be stale.
//
// Departures from Kubernetes: there the moment is set once, from when the taint is seen first, and
// stays whatever is edited (kubernetes#102993, #90794), and starts anew with every
// restart. Options.Frozen does as Kubernetes does. A pod whose eviction fails five
// times is forgotten there; here it is asked for again.
package tainteviction
