// Package queue decides which pending pod is scheduled next, and when an unschedulable pod
// is tried again. It is Berth's counterpart of kube-scheduler's scheduling queue;
// engine/scheduling is its only user.
//
//	           Add                       Pop              Remove
//	─────────────────────▶ active ─────────────▶ in flight ─────────▶ (bound)
//	                        ▲  ▲                  │      │
//	     backoff ends, or   │  │ cluster          │      │ RequeueUnschedulable
//	    no pod is active    │  │ event            ▼      ▼
//	                        └──┼───────────── backoff  unschedulable
//	                           │                 ▲       │
//	                           └─────────────────┴───────┘
//	AddGated: gated pods wait for an update, or for an event of the gate's plugin.
//
// Pods are ordered by priority, then by the time they were added, then by name. The
// backoff doubles from Config.InitialBackoff to Config.MaxBackoff with the number of
// rejections or of consecutive errors. The two are counted separately, and a pod that
// failed with an error is never popped before its backoff ends.
//
// A rejection names plugins. QueueingHints decides which cluster events may undo a rejection
// by these plugins. Pods with equal keys are scheduled alike, so they share a group:
//
//   - A rejection of one pod applies to its group.
//   - An event is passed to the groups that registered for it, not to single pods.
//   - If the hint is positive, one pod of the group moves to the active or backoff
//     pool: the trial pod, the pod that was tried least recently. If it is assumed, fails,
//     changes or is deleted, the next pod of the group becomes the trial pod. If it is
//     rejected, the group stays unschedulable.
//   - If the hint names nodes, Pop checks them again. If other pods have taken the
//     capacity, the trial pod returns to its group without an attempt.
//   - A negative hint may name further plugins that reject the group on a node. They are
//     added to the plugins of the group.
//
// The cost of an event depends on the number of interested groups, not of pods. An event
// that occurs while a pod is in flight is checked when the pod is requeued.
//
// Invariants, checked by a fuzz test against a reference implementation:
//
//   - A pod is in exactly one pool, or in flight.
//   - Any event moves a pod that no plugin rejected, or another pod of its group. A pod
//     that waits longer than Config.MaxUnschedulableDuration is tried again.
//   - Without events, new pods and passing time no pod is tried twice.
//   - No result depends on the order of insertion or on map order.
//
// A fuzz test of engine/scheduling checks that no queueing hint of placement misses an
// event. In production the scheduler audits this.
//
// Differences from kube-scheduler: Pop flushes the pools, not a timer, so a backoff ends on time. kube-scheduler moves
// every pod that an event may make schedulable, and tries each.
package queue
