// Command peer lets the real kube-scheduler, v1.36.3, do a Work in process and
// prints what it took as one line of JSON, a work.Result.
//
// It is for command run, which starts it in turn with Berth's counterpart
// (bench/inprocess of the main module). The scheduler is the unmodified one with its default
// profile, informers, queue, cache, binding cycle, metrics and preemption. Only the
// transport is replaced: the informers of pods and nodes read from an in-memory list and watch
// that hand over pointers, and bind, delete and status patch go to an in-memory store
// that emits the watch event that follows. All other kinds come from client-go's fake
// clientset. So serialization, network, API server and event recording are not in it.
package main
