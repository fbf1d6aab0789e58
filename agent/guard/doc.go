// Package guard adds fast node-pressure eviction to a node that runs a kubelet. When memory or PIDs run short, it
// kills the pod that engine/nodepressure selects, within milliseconds, and writes the eviction to the pod's status.
// The kubelet keeps all other duties.
//
//	kernel, clock ─▶ agent/pressure ─▶ SIGKILL to the pod's cgroup
//	                       └─▶ guard: pod status Failed, Evicted ─▶ kubelet terminates the rest of the pod
//
// The kubelet treats a Failed pod as terminated: it stops the pod's containers and starts none. The guard derives the
// path of the pod's cgroup from the kubelet's cgroup driver.
//
// The kubelet keeps handling disk pressure: its period of 10 s is short enough, and it manages
// images and logs. It also keeps writing the node conditions, which must have one writer.
//
// Invariants, each covered by a test:
//
//   - The guard and the kubelet never both evict for the same signal. Unless --kubelet-eviction-off is set, the guard
//     does not start if the kubelet evicts for memory or PIDs, or if the kubelet's configuration cannot be read.
//   - Pods of other nodes and terminated pods are never changed.
//   - Writing an eviction is retried until it succeeds or the pod is deleted.
package guard
