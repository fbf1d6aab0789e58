// Package agent is the shell on a node: it registers the node, renews its
// Lease, judges the pods that are bound to it, carries out what engine/podlifecycle
// decides through a runtime, and reports the pods' status.
//
// One agent serves one node, or, with the simulated runtime, any number of
// nodes in one process: they share one watch, one machine loop and one pool of
// writers.
//
//	watch of pods, nodes ─┐                ┌─▶ refused: Failed, OutOfcpu ...
//	runtime reports ──────├─▶ one loop: judge ─▶ podlife.Step ─▶ runtime: start, stop, kill, probe
//	timers ───────────────┤                                   └─▶ writers: status, deletion
//	Evict, Shutdown ──────┘
//
// A pod is judged once, when it comes, in the order of the kubelet: pressure (Pressure.Admit),
// sysctls, platform, the rules of placement by the same code as the scheduler's
// (engine/placement.Admit) over the pods that have not ended here, shutdown. A critical pod for which there is too little
// room waits until those have ended that engine/preemption names. A pod whose claims are not bound does not start before they are.
//
// Others end pods through the same loop: pressure, for a critical pod, at a shutdown. What is
// ended so is Failed when nothing of it runs any more, and its room is free before that is written.
//
// The API and the runtime are the only memory: after a restart lives resume from what the
// runtime finds (Runtime.Recall), and from the status of their pods. Who was taken before keeps its room.
// Writes are coalesced, one in flight for each pod; a conflict waits
// for the watch to catch up and tries again.
//
// Invariants, each held by a test:
//
//   - a pod that is refused was never started, and is told of as if it never was here;
//   - the room of a pod is its own from when it is taken until nothing of it runs any more;
//   - what others say of a node (labels, taints, resources it does not know) stays.
//
// Departures from Kubernetes: pods that were taken before a restart are not judged again; a pod
// that is denied a place, for whatever reason, is judged once more by a fresh look at the node, while others go on.
package agent
