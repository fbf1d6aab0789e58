// Package scheduling is the machine that gives every pending pod a node. It
// composes what is where (cluster), who waits (queue), where a pod may go
// (placement) and who must leave so that it fits (preemption), and keeps an
// account of what was asked of the world and not answered yet.
//
//	Step(now, events, limit) -> (effects, wake)
//
// A pod in flight is an attempt:
//
//	queued ──decide──▶ [asked] ──▶ assumed, [preparing ─▶ prepared] ──▶ binding ──Done──▶ bound ──seen on its node──▶ (over)
//	   ▲                  │              │           │                   │  ▲   │           │
//	   │ Refused, no      │              │ Refused,  │ not bound in      │  │   │ Unknown,  │ not seen
//	   │ answer in time   │              │ Conflict  │ time, in vain     │  │   │ no answer │ in time
//	   ├──────────────────┴──────────────┴───────────┘                   │  │   ▼           ▼
//	   └────────────────────── Refused, Conflict ────────────────────────┘  └─ looking ◀────┘
//	                                                        unbound, a few times   └──bound or gone──▶ (over)
//
// Each stage has a deadline and an undo. Asked (Ask, AskVictims): extenders have a say;
// nothing is assumed, and what they leave is looked at again on the state as it is
// then. Preparing and prepared (Prepare): the pod's claims get their volumes; pod and volumes
// count as taken, and until a Bind was sent the attempt can be taken back without
// anybody else knowing of it.
//
// A pod that fits nowhere may be nominated to a node, whose victims are driven out. It waits in
// the queue meanwhile:
//
//	waiting ──plan──▶ nominated, telling (Preempt) ──Done──▶ told ──last victim gone──▶ tried at once
//	   ▲                │    ▲        │                       │
//	   │ Refused: plan  │    │        │ Unknown, no answer    │ victims do not die in time, or
//	   │ once more,     │    └────────┘ the same again        │ no answer comes: Unnominate
//	   └─ then overrule─┴─────────────────────────────────────┘
//
// The nomination holds room in the state from the moment of the choice, and the victims count
// as leaving, whatever a lagging watch says; both are taken back when the Preempt turns
// out not to have happened. While its Preempt is under way the pod is not tried; after that
// every change that may help it is, but it chooses no other victims until those are gone or
// late. Pods of lower priority that were nominated there lose that and are tried again.
// Victims have their grace and Config.VictimsTimeout, from when the API knew, or was told first if it
// does not answer. A node that was given up, or refused, is forsaken (forsaken.go): as long as a victim is there, others come
// before it.
//
// A Hold (hold.go) concerns the waiting pods of its owner, which are tried again when it
// comes, changes, goes or ends; wake is no later than the next end. Room whose reservation is
// used up or over is told as that of a pod that left.
//
// An effect has an id and gets exactly one Outcome. After an Unknown Bind the
// assumption stays, and the pod is looked at; one that is found unbound is bound
// again to the same node, so that a request that is still under way cannot put the
// pod anywhere else: at once, then less and less often, and a few times in all. When no Bind can be
// granted any more and the pod is still unbound, the attempt has failed. An outcome whose
// attempt is over, or has a newer effect, is dropped; where only something else than the answer to
// the first Bind shows that it was granted, a Bound tells so, once.
//
// Invariants, each held by a property test:
//
//   - NoLostPod: a pending pod of ours is in the queue or has an attempt.
//   - BoundOnce: no second node is asked for while the first may still be granted.
//   - NoOverCapacity: with all binds being ours, no node is given more than it has.
//   - SameEventsSameEffects: effects are a function of events, times and seed.
//   - LowerOnly: no victim's priority is that of its preemptor, or above.
//   - RoomIsHeld: no pod gets room that is held for a nominated pod of a higher priority.
//   - DrivenOnce: a pod that is leaving is not driven out again.
//   - NoWakeMissed: after every event, when the queue is at rest, no sleeping pod fits anywhere
//     or could make room by the plain path.
//   - AtRest: when nothing is under way, no waiting pod fits anywhere or could make room, and
//     state and API say the same.
//
// One pod that sleeps is checked every Config.AuditEvery, each kind in turn: one that fits
// is told as Missed and tried.
//
// After a restart there is nothing to repair: ids are void, and the state comes
// from a list, as events. A preemption that another process began is finished: victims
// that carry the condition are driven out, and waited for by whom is nominated to their node.
//
// Departures from Kubernetes: victims that do not die in time are given up
// (Config.VictimsTimeout); a budget that changes in between is asked a second time before it
// is overruled; a choice that is refused otherwise is made without that node; a nominated pod whose specification changes chooses anew.
package scheduling
