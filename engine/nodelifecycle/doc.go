// Package nodelifecycle decides which nodes are not ready and which taints nodes get for their conditions. It
// is kube-controller-manager's node lifecycle controller as a state machine.
//
//	Step(now, events) -> (effects, wake)
//
//	          no heartbeat for GracePeriod              its turn in the zone's taint queue
//	Ready=True ───────────────────────▶ Ready=Unknown ───────────────────────▶ NoExecute
//	    ▲      (the kubelet reports Ready=False)                                  │
//	    └──────────────── the kubelet reports Ready=True ─────────────────────────┘
//
// A heartbeat is a renewed Lease or a newer heartbeat time in the node's status. It counts from when
// the machine receives it, so the clocks of nodes do not matter. Conditions become NoSchedule taints immediately.
// The NoExecute taints not-ready and unreachable are rate-limited by zone. The node that is not ready for
// the longest time comes first.
//
//	zone                when                                          one node every (by default)
//	Normal              otherwise                                     10 s
//	PartialDisruption   more than 2 not ready, and 55 % or more       100 s; never in zones of up to 50 nodes
//	FullDisruption      no node is ready                              10 s
//	                    all zones are in FullDisruption               never, and all NoExecute taints are removed
//
// Invariants, each with a test:
//
//   - MarkedInTime: a silent node is marked Unknown within GracePeriod of its last heartbeat, and is queued at
//     most a MonitorPeriod later.
//   - RateLimited: two queued nodes of a zone are never tainted closer together than its rate allows.
//   - NoneWhenAllDown: while no node of any zone is ready, none has a NoExecute taint of this machine.
//   - StartGrace: time before the machine started does not count as silence of a node.
//   - OwnDelay: a delay of a call after the requested wake-up time does not count as silence of a node.
//   - OnlyManaged: other taints are not modified, such as the cloud provider's uninitialized and shutdown
//     taints, or out-of-service.
//   - ZonesFromObjects: ComputeZones of the objects predicts what the machine does.
//
// Differences from Kubernetes: a node that already has its taint does not use up the rate. The order follows
// from the transition time of Ready, so a restart does not change it. If a node changes between Unknown and
// False, the new taint keeps the old time. A node that never reported Ready keeps not-ready. After a start,
// and after FullDisruption of all zones, nodes with Ready=Unknown wait for another GracePeriod before they are
// queued.
package nodelifecycle
