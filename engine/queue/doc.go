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
// Who wakes whom: a rejection names rules. A Kind says which changes of the cluster
// can undo a rejection by a set of rules, and of a change with its object, whether it
// may have done so. Pods of one Kind are decided alike, and wait in a group:
//
//   - A rejection speaks for the whole group, and its rules hold for all of it.
//   - A change is put to the groups that care for changes like it, not to pods.
//   - If it may help, one pod of the group is woken, the probe: who was tried least
//     lately. If that one gets a node, fails, changes or goes, the next one is woken; if it is
//     rejected, all sleep on.
//   - A change that may help on some nodes only is checked once more when it is the
//     probe's turn: if others have taken the room, the probe sleeps on without a decision.
//   - A change that does not help may say what else rejects the group now, so that
//     its rules are always such that one of them rejects its pods on each node.
//
// So the cost of a change is in the groups that it concerns, however many pods they
// have. A change that happens while a pod is being decided about is put to its Kind when the pod
// comes back; when there are too many, their kinds alone are remembered.
//
// Invariants, held by a slow twin that is fuzzed against the queue:
//
//   - OnePlace: a pod is in exactly one pool, or in flight.
//   - NothingSleeps: a pod rejected by no rule is woken by any change, or another of its
//     kind is, and what waits for longer than Config.LeftoverAfter is tried again by itself
//     whatever happened.
//   - NoSpin: without changes, time and new pods no pod is tried twice.
//   - Total order: no result depends on the order of insertion or of a map.
//
// That no change is missed by the Kinds of placement, a fuzz test of the scheduling
// machine holds; the machine audits it in production.
//
// Departures from Kubernetes: the pools are flushed when the queue is asked, not
// by tickers, so that a window ends at the instant it says. kube-scheduler wakes all pods
// that a change may help, and tries each.
package queue
