// Package agent is the core of the node agent, Berth's counterpart of the kubelet. It registers a node, renews its
// Lease and admits the pods bound to it. It executes the effects of engine/podlifecycle through a container runtime,
// and reports pod status.
//
// One agent serves one node. With the simulated runtime it serves any number of nodes in one
// process, which share one watch, one loop and the limits of concurrent requests.
//
//	watch of pods, nodes ─┐                ┌─▶ rejected: Failed, OutOfcpu ...
//	runtime reports ──────├─▶ one loop: admit ─▶ podlifecycle.Step ─▶ runtime: start, stop, kill, probe
//	timers ───────────────┤                                       └─▶ requests: status, deletion
//	Evict, Shutdown ──────┘
//
// The code is synchronous: it takes time, concurrency and randomness from its Environment. Run uses goroutines, the
// simulator (sim/agent) coroutines under virtual time. Requests are sent concurrently with the loop and post
// their results to it.
//
// The agent admits a pod once. The checks run in this order: node pressure (PressureManager.Admit), sysctls,
// platform, node shutdown, placement. Placement uses engine/placement.AdmissionCheck, the scheduler's own code, and
// counts the pods of the node that have not terminated. A critical pod without enough resources preempts the pods
// that engine/preemption selects, and waits until they have terminated. A pod whose claims are unbound waits until
// they are bound.
//
// Node pressure, preemption and shutdown end pods through the same loop. Such a pod becomes Failed when none of its
// containers run; the agent frees its resources before it writes that status.
//
// A resize changes the requests of a running pod. Desired resources are those of the specification,
// allocated ones those that the node has admitted, actual ones those that the runtime has applied. The
// runtime gets pods with their allocated resources only. Deferred resizes are retried when a pod ends
// or requests less.
//
// The agent stores allocated resources only (AllocationStore). After a restart it resumes each pod
// from the containers that the runtime finds (Runtime.ExistingContainers) and from the pod's status.
// Pods admitted earlier keep their resources. Status writes are coalesced, with one in flight per pod.
// After a conflict the agent waits for the watch and writes again.
//
// Invariants, each covered by a test:
//
//   - A rejected pod never starts, and its status lists no containers.
//   - A pod holds its resources from admission until none of its containers run.
//   - The agent keeps labels, taints and resources that other clients set on the node.
//
// Differences from Kubernetes: after a restart, the agent rechecks only the sysctls of pods that it had admitted.
// Before it rejects a pod because of placement, it reads the node object from the API and checks again.
package agent
