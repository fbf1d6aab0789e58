// Package podlifecycle is the state machine of one pod on its node. It decides when containers start and
// restart, which probes run and what their results mean. It also decides when the pod has succeeded or
// failed, and how it terminates.
//
// The node agent feeds the machine events (a container started or exited, a probe failed, the pod is
// deleted). The machine returns effects (start, stop, kill, probe) and the time of the next call. Simulated
// and real runtimes use the same machine.
//
//	          init containers, in order;
//	          sidecars keep running                 all done, none restarts
//	Pending ────────────────────────────▶ Running ───────────────────────▶ Succeeded | Failed ── PodStopped
//	   │                                     │
//	   └──── Delete(grace), Fail(grace) ─────┴──▶ stopping ──▶ [Failed] PodStopped ──▶ PodRemoved, after Delete
//	                                 preStop hooks; then
//	                                 containers, then sidecars in reverse order;
//	                                 at the end of the grace period the remaining ones are killed,
//	                                 at least 2 s after the stop request
//
// A pod is Running once each container has run. It becomes Failed only when none of its containers runs any more,
// because it holds resources until then. The startup probe runs alone until it has passed. A terminating
// container gets readiness probes only. A container whose liveness or startup probe failed, or whose
// specification changed, is stopped as at the end of its pod and restarted.
//
// Ephemeral containers start as soon as they are added and run until they exit or the pod stops. They
// never restart, and neither phase nor readiness depends on them.
//
// Invariants, each with a test:
//
//   - a container never runs twice at once, and each start has the next attempt number;
//   - an init container starts only after all before it have succeeded (sidecars: run and have passed their
//     startup probe);
//   - a pod that has stopped has no running container and starts none;
//   - nothing is killed before the grace period ends and 2 s after its stop request, except by a failure
//     with KillNow;
//   - within the grace period, a sidecar gets a stop request after all later containers have terminated;
//   - only running containers are probed, and no probe runs twice at once;
//   - the first restart is immediate, the next follow after 10 s doubling to 5 min; running for twice the
//     longest delay resets it.
package podlifecycle
