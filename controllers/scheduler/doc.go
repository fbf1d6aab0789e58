// Package scheduler runs the scheduling machine. It passes events from the API server (informers) to the machine,
// executes its effects (executor) and returns the outcomes as events. It makes no decisions itself.
//
//	               events                     effects
//	informers ───────────────▶ one goroutine ─────────▶ executor ──▶ API
//	  ▲                        with the machine             │
//	  └─────────────────────────── outcomes ◀───────────────┘
//
// With leader election, an instance that does not lead follows the API with its machine but makes no decisions. It can
// take over within the lease duration. An instance that loses the lease stops sending immediately, and Run returns an
// error; the process must be restarted. An orderly shutdown finishes the requests in flight and then releases the
// lease.
//
// HTTPS endpoints: /livez and /readyz need no authorization; all other paths require the verb get on the path. Only the
// machine's goroutine accesses the machine. For /debug/queue it copies the queue between two steps, so a slow client
// does not block it. The latest decisions (/debug/pods) are stored in two rings of fixed size and formatted on request.
// /metrics has kube-scheduler's names and labels. framework_extension_point_duration_seconds covers only PreBind and
// Bind: the earlier extension points are one computation. There are no metrics of features that Berth does not have
// (permit, pod groups).
//
// A crash loses no state: completed bindings are in the API, and all other pods are still pending there.
package scheduler
