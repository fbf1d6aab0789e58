// Package probe asks containers how they are: exec, http, tcp and grpc probes.
//
//	Start(target) ─▶ startup probe ──passed──▶ readiness and liveness probes ─▶ Report(Result)
//	Stop(pod, container) ends them
//
// It knows when to ask (initial delay, period, timeout) and when the answers
// make a verdict (success and failure thresholds); what a verdict means for the
// pod is engine/podlife's.
//
// Invariants, each held by a test:
//
//   - Gated: readiness and liveness are not asked before the startup probe has passed.
//   - OnceAtATime: a probe is never asked again while an answer is awaited; ticks missed are dropped.
//   - Reported: a verdict is reported when it changes, and the first one.
//   - Stopped: nothing is reported for a container after Stop or a newer Start of it.
//   - A failed liveness or startup probe asks no more until the container is started again.
//   - An errored probe (the container could not be asked) counts as neither.
//
// One timer serves all probes; a goroutine exists only while a probe is asked.
package probe
