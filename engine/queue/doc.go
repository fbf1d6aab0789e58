// Package queue decides which waiting pod is tried next, and when a pod that
// was rejected is tried again. The scheduling machine is its only user.
//
//	          Enter                     Next                 Done
//	─────────────────────▶ active ─────────────▶ in flight ─────────▶ (bound)
//	                        ▲  ▲                  │      │
//	    end of its window,  │  │ a change         │ Fail │ Reject
//	    or nothing is       │  │ that concerns    ▼      ▼
//	    active              └──┼──────────── back-off  unschedulable
//	                           │                 ▲       │
//	                           └─────────────────┴───────┘
//	Gate: gated pods wait apart until they change, or a change concerns the gate.
//
// Order: priority, then the time of the latest entry, then the name. Back-off
// doubles from Config.InitialBackoff to Config.MaxBackoff with the number of
// rejections, or of errors in a row: the two are counted apart, and a pod that
// failed with an error is never taken before its time. Windows of back-off end
// at whole seconds; who shares a window is ordered like the active pods.
//
// Who wakes whom: a rejection names rules, Config.Cares names for each set of
// rules the kinds of changes that can undo it. Waiting pods are kept in groups
// of equal rules, so that a change costs time in the groups it concerns. A change that
// happens while a pod is in flight counts when the pod comes back.
//
// Invariants, held by a slow twin that is fuzzed against the queue:
//
//   - OnePlace: a pod is in exactly one pool, or in flight.
//   - NothingSleeps: a pod rejected by no rule is woken by any change, and what waits
//     for longer than Config.LeftoverAfter is tried again whatever happened.
//   - NoSpin: without changes, time and new pods no pod is tried twice.
//   - Total order: no result depends on the order of insertion or of a map.
//
// Departure from Kubernetes: the pools are flushed when the queue is asked, not
// by tickers, so that a window ends at the instant it says.
package queue
