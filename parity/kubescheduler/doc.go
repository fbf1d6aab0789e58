// Command kubescheduler runs the unmodified kube-scheduler, v1.36.3, on a Workload in
// process and prints the cost as one line of JSON, a workload.Result.
//
// The command bench runs it, alternating with Berth's counterpart (bench/inprocess of the
// main module). The scheduler has its default profile, informers, queue, cache, binding
// cycle, metrics and preemption. Only the transport is replaced. The informers of pods and
// nodes read from an in-memory list and watch that pass pointers. Bind, delete and status
// patch requests go to an in-memory store that emits the resulting watch event. All other
// kinds come from the fake clientset of client-go. So serialization, the network, the API
// server and event recording are not included.
package main
