// Package pods runs real pods. Its Runner implements runtime.Runtime for a node whose containers
// run in a runtime.Service: containerd, the embedded runtime or another runtime, through CRI.
//
//	Start ─▶ [one worker per pod, while containers wait to start]
//	         adopt existing ─▶ volumes ─▶ cgroup ─▶ sandbox ─▶ image ─▶ create ─▶ start ─▶ postStart ─▶ Started
//	         a failed step is reported as Waiting and retried; other containers of the pod continue
//	events, relist ─▶ container status ─▶ Exited
//	Stop, Kill, PreStop: run immediately, in parallel to the worker
//	Resize ─▶ limits of cgroups changed, larger pod limits first, smaller ones last; retried until it succeeds
//	Release ─▶ sandbox stopped, volumes unmounted, cgroup removed; logs and exited containers remain
//	Forget  ─▶ everything removed
//
// The Runner finds its containers by the labels and annotations that the kubelet sets, so crictl
// shows the usual names, and by the label berth.dev/node. It never touches sandboxes without this
// label or with the name of another node. After a restart the Runner adopts existing containers
// by their attempt. It stops and removes pods that the API server no longer has.
//
// Invariants, each covered by a test:
//
//   - Each attempt of a container is created once, whatever fails or restarts in between.
//   - Exited is reported once for each Start and Resume; nothing follows it for that run.
//   - The containers of a pod start one at a time, in the order of the pod's specification.
//   - Forget leaves no process, sandbox, mount, cgroup, directory or log of the pod.
//   - An idle pod has no goroutine and no timer: one event stream and one listing serve all pods.
//
// A container is reported as OOMKilled only if it exited with code 137 and the kernel's log or a cgroup counter
// confirms it (oom.go). After one OOM kill, some runtimes report all containers of the node as OOMKilled.
//
// Differences from the kubelet: failed starts are retried after 1 s, doubling to 10 s, instead of
// every 10 s. While events flow, all containers are relisted only every 10 s. Containers of a
// force-deleted pod get a grace period of 2 s and no preStop hook.
package pods
