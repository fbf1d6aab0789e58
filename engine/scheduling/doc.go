// Package scheduling is the scheduling machine: it assigns every pending pod to a node. It composes the cluster state
// (package cluster), the scheduling queue (queue), filtering and scoring (placement) and preemption. It tracks every
// effect that has no outcome yet.
//
//	Step(now, events, limit) -> (effects, wake)
//
// The machine does no I/O. The scheduler controller and the simulator feed it events, execute its
// effects, and return each effect's outcome as an event.
//
// # Attempts
//
// A pod that Pop returned has an attempt, with these stages:
//
//	callingExtenders    optional: extenders filter and score; nothing is assumed
//	bindingVolumes      optional: the pod is assumed, its claims are being bound
//	waitingForVolumes   optional: until the watch shows the claims as bound
//	binding             a Bind is in flight
//	bound               the Bind succeeded; until the watch shows the pod on its node
//	refreshing          the pod is being read from the API
//	waitingToRefresh    until the next refresh
//
// Each stage has a deadline. A refusal or a timeout before binding returns the pod to the queue, and so does a Bind
// that is Refused or a Conflict. An Unknown Bind, and a bound pod that the watch does not show in time, are
// refreshed: the attempt ends, or Bind is retried. The answer of extenders is checked against the current state.
// Until a Bind is sent, the machine can abort the attempt without an API write.
//
// After a Bind with an unknown outcome the assumption stays and the pod is read from the API. If the pod
// is still unbound, Bind is retried with the same node, with increasing delays and at most
// maxBindAttempts times. The attempt fails when no Bind can succeed any more and the pod is unbound. A
// watch event, a refresh or a later Bind may show that the pod is bound although the outcome of the
// first Bind does not. Then the machine emits one ReportBound.
//
// # Nominations
//
// An unschedulable pod may preempt others. It waits in the queue meanwhile, and its nomination has a phase:
//
//	effectInFlight      the Preempt or ClearNomination has no outcome yet
//	effectUnanswered    the effect timed out and is sent again at the deadline
//	waitingForVictims   the API has the nomination; the pod is activated when the last victim is deleted
//	replanning          the Preempt was refused; victims are selected again
//
// If victims exceed their timeout, ClearNomination is sent and victims are selected again.
//
// From the choice on, the nomination reserves resources in the state and the victims count as terminating, even if
// the watch lags. Both are reverted if the Preempt fails. While the Preempt is in flight the pod is not scheduled.
// Afterwards the machine schedules it again, but selects no other victims before the current ones are deleted or time
// out. Nominations of lower-priority pods to that node are cleared. The victims' timeout is the longest grace period
// plus Config.VictimsTimeout. A node where preemption failed is selected again only if no other node is a candidate
// (failed_nodes.go).
//
// # Holds
//
// A Hold (an Avoid or a Reserve) affects the waiting pods of its owner. They are requeued when the Hold
// is created, changes, is deleted or expires. A reservation that is used or ends requeues pods, as the
// deletion of a pod does.
//
// # Invariants
//
// Property tests check that:
//
//   - NoLostPod: every pending pod of a known profile is in the queue or has an attempt.
//   - BoundOnce: no second node is requested while the first Bind may still succeed.
//   - NoOverCapacity: if all binds are the machine's own, no node is overcommitted.
//   - SameEventsSameEffects: effects are a function of events, times and the seed.
//   - LowerOnly: every victim's priority is below its preemptor's.
//   - ReservationsHold: a pod does not take resources reserved for a nominated pod of higher priority.
//   - EvictedOnce: a terminating pod is not preempted again.
//   - NoMissedWakeup: after each event, once the queue is idle, no pod in the unschedulable pool fits a
//     node or could preempt.
//   - Idle: with no effect in flight, no waiting pod fits a node, and state and API agree.
//
// Every Config.AuditInterval the machine checks one pod of the unschedulable pool. If that pod fits a
// node, the machine emits MissedWakeup and activates the pod.
//
// A restarted machine needs no recovery: the state comes from a list, as events. It finishes preemptions
// that another process started: it evicts the victims that have the DisruptionTarget condition and waits
// for them.
//
// Differences from Kubernetes:
//
//   - The scheduler abandons victims that do not terminate in time (Config.VictimsTimeout).
//   - If a budget refuses a Preempt, victims are selected again with the current budgets. Only the second selection
//     overrules a budget.
//   - After any other refusal of a Preempt, victims are selected again without that node.
//   - If the specification of a nominated pod changes, its victims are selected again.
package scheduling
