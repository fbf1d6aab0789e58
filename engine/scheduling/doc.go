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
// that is Refused or a Conflict. The machine checks the answer of extenders against the current state. Until it sends
// a Bind, it can abort the attempt without an API write.
//
// The machine refreshes the pod of an Unknown Bind, and a bound pod that the watch does not show in time. The assumption
// stays meanwhile. If the pod is still unbound, the machine retries Bind with the same node. It sends Bind at most
// maxBindAttempts times, with increasing delays. The attempt fails when no Bind can succeed any more and the pod is
// unbound. A watch event, a refresh or a later Bind may show that the pod is bound although the outcome of the
// first Bind does not. Then the machine emits one ReportBound.
//
// # Nominations
//
// An unschedulable pod may preempt others. It waits in the queue meanwhile, and its nomination has a phase:
//
//	effectInFlight      the Preempt or ClearNomination has no outcome yet
//	effectUnanswered    the effect timed out and is sent again at the deadline
//	waitingForVictims   the API has the nomination; the pod is activated when the last victim is deleted
//	replanning          the Preempt was refused; the machine selects victims again
//
// If victims exceed their timeout, the machine sends ClearNomination and selects victims again.
//
// From the choice on, the nomination reserves resources in the state and the victims count as terminating, even if
// the watch lags. The machine reverts both if the Preempt fails. It does not schedule the pod while the Preempt is in
// flight. Afterwards it schedules the pod again, but selects no other victims before the current ones are deleted or
// time out. It clears nominations of lower-priority pods to that node. The victims' timeout is the longest grace period
// plus Config.VictimsTimeout. After preemption on a node has failed, the machine selects that node again only if no
// other node is a candidate (preemption_failures.go).
//
// # Holds
//
// A Hold (an Avoid or a Reserve) affects the waiting pods of its owner. The machine requeues them when the
// Hold is created, changes, is deleted or expires. The end or use of a reservation requeues pods, as the
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
//   - If a budget refuses a Preempt, the scheduler selects victims again with the current budgets. Only the second
//     selection overrules a budget.
//   - After any other refusal of a Preempt, it selects victims again without that node.
//   - If the specification of a nominated pod changes, it selects the pod's victims again.
package scheduling
