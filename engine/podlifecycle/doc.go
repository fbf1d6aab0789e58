// Package podlifecycle is the life of one pod on its node: which container starts
// when, who restarts after which delay, which probes run and what they mean, when
// the pod has succeeded or failed, and how it ends when it is deleted or made to fail.
//
// It is a machine: a runtime tells it what happened (a container started, waits for
// its image, ended with a code, failed a probe; the pod is to go), it answers with what
// to do (start, stop, kill, probe) and when to be called again. It never touches a
// process; the simulated runtime and a real one run the same machine.
//
//	          init containers, one after the other;
//	          sidecars stay up                      all done, none restarts
//	pending ────────────────────────────▶ running ───────────────────────▶ succeeded | failed ── Over
//	   │                                     │
//	   └──── Delete(grace), Fail(grace) ─────┴──▶ stopping ──▶ [failed] Over ──▶ gone, after Delete
//	                                 preStop hooks, and when they are done:
//	                                 containers, then sidecars in reverse order;
//	                                 at the end of the grace all that are left,
//	                                 killed then, or 2 s after they were asked
//
// A pod runs when each of its containers has run. It fails when nothing of it runs any
// more, not when it is made to: until then what it holds is not free. The startup probe
// runs alone until it has passed; a container that is to end is asked only whether it is
// still ready. One whose liveness or startup probe has failed, or whose specification has
// changed, is stopped as at the end of its pod and runs again.
//
// Invariants, each held by a test:
//
//   - a container never runs twice at once, and each start has the next attempt's number;
//   - an init container starts only when all before it have succeeded (or, for
//     sidecars, run and have passed their startup probe);
//   - a pod that is over, or gone, has no running container, and starts none;
//   - nothing is killed before the grace is over and 2 s after it was asked to stop, but
//     by a failure that says so;
//   - while there is grace, a sidecar is asked to stop when all that came after it has ended;
//   - only what runs is probed, and nothing twice at once;
//   - the first restart is immediate, the next come after 10 s doubling to 5 min;
//     twice the longest delay of running forgives the past.
package podlifecycle
