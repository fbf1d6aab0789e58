// Package podlife is the life of one pod on its node: which container starts
// when, who restarts after which delay, when the pod has succeeded or failed,
// and how it ends when it is deleted.
//
// It is a machine: a runtime tells it what happened (a container started, or
// ended with a code; the pod is to go), it answers with what to do (start, stop,
// kill) and when to be called again. It never touches a process; the simulated
// runtime and a real one run the same machine.
//
//	          init containers, one after the other;
//	          sidecars stay up                      all done, none restarts
//	pending ────────────────────────────▶ running ───────────────────────▶ succeeded | failed
//	   │                                     │
//	   └──────────── Delete(grace) ──────────┴──▶ stopping ──▶ gone
//	                                 preStop hooks, and when they are done:
//	                                 containers, then sidecars in reverse order;
//	                                 at the end of the grace all that are left,
//	                                 killed then, or 2 s after they were asked
//
// Invariants, each held by a test:
//
//   - a container never runs twice at once;
//   - an init container starts only when all before it have succeeded (or, for
//     sidecars, run);
//   - a pod that is gone has no running container;
//   - nothing is killed before the grace is over and 2 s after it was asked to stop;
//   - while there is grace, a sidecar is asked to stop when all that came after it has ended;
//   - the first restart is immediate, the next come after 10 s doubling to 5 min;
//     10 minutes of running forgive the past.
package podlife
