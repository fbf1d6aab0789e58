// Package pods runs real pods: it is the runtime.Runtime of a node whose
// containers run in a runtime.Service (containerd through CRI, or the embedded one).
//
//	Start ─▶ [one worker a pod, while it has something to start]
//	         look ─▶ volumes ─▶ cgroup ─▶ sandbox ─▶ image ─▶ create ─▶ start ─▶ postStart ─▶ Started
//	         what fails is reported as Waiting and tried again, the other containers go on
//	events, relist ─▶ status ─▶ Exited
//	Stop, Kill, PreStop: at once, beside the worker
//	Over ─▶ sandbox stopped, volumes unmounted, cgroup removed; logs and dead containers stay
//	Forget ─▶ all of it removed
//
// What runs is known by labels and annotations as the kubelet writes them (crictl
// shows the usual names) and by berth.dev/node: sandboxes without it, or of another
// node, belong to somebody else and are never touched. After a restart the
// containers that are found are taken up by their attempt; what is found of pods
// that the API server no longer has is stopped and removed.
//
// Invariants, each held by a test:
//
//   - a container of an attempt is created once, whatever fails or restarts in between;
//   - Exited comes once for each Start and Resume, and after it nothing of that run;
//   - containers of a pod are started in the order of its specification, one at a time;
//   - nothing of a pod is left when Forget is done: process, sandbox, mount, cgroup, directory, log;
//   - a pod without work has no goroutine and no timer: all that runs is seen by one stream and one listing.
//
// An end by the kernel's OOM killer is believed only with exit code 137 and evidence of our own
// (oom.go): runtimes mark all containers of a node at once.
//
// Departures from Kubernetes: what cannot be created is tried again after 1 s doubling to 10 s instead
// of every 10 s; a pod's containers are looked up by relist only every 10 s while
// events flow. Of a pod that was removed by force, what still runs gets 2 s and no preStop hook.
package pods
