// Package scheduling is the machine that gives every pending pod a node. It
// composes what is where (cluster), who waits (queue) and where a pod may go
// (placement), and keeps an account of what was asked of the world and not
// answered yet.
//
//	Step(now, events, limit) -> (effects, wake)
//
// A pod in flight is an attempt:
//
//	queued ──decide──▶ assumed, binding ──Done──▶ bound ──seen on its node──▶ (over)
//	   ▲                  │   ▲    │                │
//	   │ Refused, Conflict│   │    │ Unknown,       │ not seen
//	   └──────────────────┘   │    │ no answer      │ in time
//	                   unbound│    ▼                ▼
//	                          └─ looking ◀──────────┘
//	                                └──bound or gone──▶ (over)
//
// An effect has an id and gets exactly one Outcome. After Unknown the
// assumption stays, and the pod is looked at; one that is found unbound is bound
// again to the same node, so that a request that is still under way cannot put the
// pod anywhere else. An outcome whose attempt is over, or has a newer effect,
// is dropped.
//
// Invariants, each held by a property test:
//
//   - NoLostPod: a pending pod of ours is in the queue or has an attempt.
//   - BoundOnce: no second node is asked for while the first may still be granted.
//   - NoOverCapacity: with all binds being ours, no node is given more than it has.
//   - SameEventsSameEffects: effects are a function of events, times and seed.
//
// After a restart there is nothing to repair: ids are void, and the state comes
// from a list, as events.
package scheduling
