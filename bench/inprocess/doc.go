// Command inprocess lets Berth's scheduling machine do a Work in process and prints
// what it took as one line of JSON.
//
// It is for parity/bench (make bench-parity), which starts it in turn with the real
// kube-scheduler; parity/workload says what a Work is, and the two structs here are its
// twins by field name. A pod goes its whole way: the corev1.Pod is compiled as it arrives, queued,
// decided, assumed, asked to be bound (or to preempt, or to be reported as refused);
// a stub in place of the API grants that and the pod comes back, compiled again, as the watch
// would show it. Serialization, network and the goroutines that post requests are not in it.
// With -shell the real feed and actuator are around the machine, on client-go's reflectors
// and an API in memory, as the peer has its own; that costs more.
//
// As a work of Berth takes a fraction of a second, it is done again from the
// beginning, with a new machine, until there is enough to measure; what is printed are means a run.
package main
