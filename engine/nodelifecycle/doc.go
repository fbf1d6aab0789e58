// Package nodelifecycle decides which nodes are lost, and which taints a node gets for that and
// for its other conditions.
//
//	Step(now, events) -> (effects, wake)
//
//	          no sign of life for GracePeriod           its turn in the zone's line
//	Ready=True ───────────────────────▶ Ready=Unknown ───────────────────────▶ NoExecute
//	    ▲      (the node says Ready=False)                                        │
//	    └──────────────────── the node says Ready=True ───────────────────────────┘
//
// A sign of life is a renewed Lease or a newer heartbeat in the node's status, at the time at
// which it is seen: clocks of nodes do not matter. Conditions become NoSchedule taints at
// once. The NoExecute taints not-ready and unreachable are rationed by zone: of those
// that wait, the one that is lost for longest is next.
//
//	zone      when                                          a node every (by default)
//	Normal    otherwise                                     10 s
//	Partial   more than 2 lost, and 55 % or more            100 s; never in a zone of up to 50 nodes
//	Full      no node is ready                              10 s
//	          all zones are Full                            never, and all NoExecute taints are taken off
//
// Invariants, each held by a test:
//
//   - LostInTime: a silent node is marked within GracePeriod of its last sign, and is
//     first in line no later than a MonitorPeriod after that.
//   - Rationed: two nodes of a zone that wait in line are never tainted closer together than its rate allows.
//   - NobodyWhenAll: while no node of any zone is ready, none has a NoExecute taint of ours.
//   - StartIsQuiet, OwnSilence: time before the machine's start, and time in which it was not
//     called although it had asked to be, is no node's silence.
//   - OnlyOurs: taints of others are never touched; among them the cloud
//     provider's uninitialized and shutdown, and out-of-service.
//   - ZonesFromObjects: Survey of the objects says what the machine is about to do.
//
// Departures from Kubernetes: a node that has its taint already takes no turn; who comes first
// follows from Ready's transition time, so that a restart changes no place; when one lost
// state turns into the other the taint keeps its time. A node that has posted no Ready condition keeps not-ready.
// After a start, and after all zones were Full, nodes of Ready=Unknown wait for another
// GracePeriod before they stand in line.
package nodelifecycle
