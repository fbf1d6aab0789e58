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
// A crash at any instant loses nothing: what was granted is in the API, what
// was not is pending there.
package scheduler
