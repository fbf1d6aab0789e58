// Package scheduler is the shell around the scheduling machine: it reads the
// API (feed), lets the machine decide, has the effects carried out (actuate) and
// brings the outcomes back as events. It decides nothing itself.
//
//	          events                     effects
//	feed ───────────────▶ one goroutine ─────────▶ actuate ──▶ API
//	  ▲                   with the machine             │
//	  └────────────────────── outcomes ◀───────────────┘
//
// With leader election, a copy that does not lead follows the API with its
// machine, so that it can take over within the lease, but makes no decision. One that
// loses the lease stops sending at once and Run returns an error: the process
// is to be started anew. On an orderly stop what is under way is finished,
// then the lease is given up.
//
// What it tells about itself, over HTTPS: /livez and /readyz to everybody, the rest to
// whom the API server allows the path. Only the loop touches the machine: what is to be
// read of it (/debug/queue) the loop copies between two steps, and whoever reads
// slowly reads the copy. The last decisions (/debug/pods) are kept as values in a ring of
// fixed size and put into words when somebody asks. /metrics has kube-scheduler's
// names and labels; of framework_extension_point_duration_seconds only Bind and PreBind, as
// all before it is one computation, and of what Berth has not (permit, pod groups) nothing.
//
// A crash at any instant loses nothing: what was granted is in the API, what
// was not is pending there.
package scheduler
