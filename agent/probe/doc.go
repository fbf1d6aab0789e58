// Package probe asks containers how they are: exec, http, tcp and grpc probes.
//
//	Start(target) ─▶ asks: initial delay, period, timeout ─▶ thresholds ─▶ Report(Result)
//	Stop(pod, container, probe) ends it
//
// It knows when to ask and when the answers make a verdict. Which probe of a
// container runs when (the startup probe before the others), and what a verdict means for
// the pod, is engine/podlifecycle's.
//
// Invariants, each held by a test:
//
//   - OnceAtATime: a probe is never asked again while an answer is awaited; ticks missed are dropped.
//   - Reported: a verdict is told when it changes, and the first one.
//   - Stopped: of what is asked when Stop or a newer Start comes nothing is told, but of a verdict that
//     was on its way by then; each carries the attempt that it is about.
//   - Free: whoever is told may hold any lock of a caller of Start and Stop.
//   - Done: a startup probe that has passed, and one or a liveness probe that has failed, asks no more.
//   - Unknown: a container that could not be asked counts for neither side.
//
// One timer serves all probes; a goroutine exists only while a probe is asked.
// Time is a function of the arguments: probes that are taken up after a
// restart of the agent are spread over their period by the pod's uid.
package probe
