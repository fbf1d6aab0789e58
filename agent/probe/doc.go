// Package probe runs the exec, HTTP, TCP and gRPC probes of containers.
//
//	Start(target) ─▶ probes: initial delay, period, timeout ─▶ thresholds ─▶ Report(Result)
//	Stop(pod, container, probe) ends it
//
// The package decides when to probe and when the results change the verdict.
// engine/podlifecycle decides which probes run (the startup probe first) and what a verdict
// means for the pod.
//
// Invariants, each covered by a test:
//
//   - A probe never runs concurrently with itself; missed ticks are skipped.
//   - The first verdict, and every change of it, is reported.
//   - After Stop or a newer Start, no result is reported except one already being reported. Each result carries the
//     container's attempt.
//   - Report may take any lock that callers of Start and Stop hold.
//   - A startup or liveness probe ends with its final verdict: a startup probe with either, a
//     liveness probe with a failure.
//   - Errors of the probe itself count neither as success nor as failure.
//
// A single timer serves all probes, and goroutines exist only while a probe runs. After a restart of the agent, the
// first probes of existing containers are spread over one period, by the pod's UID.
package probe
