// Command inprocess runs Berth's scheduling machine on a Workload in process and prints
// the cost as one line of JSON.
//
// parity/bench (make bench-parity) starts it, alternating with kube-scheduler. parity/workload documents
// Workload and Result. The two structs here have the same fields.
//
// Each pod passes through all stages. The corev1.Pod is converted when it arrives, queued, assumed and bound, or it
// preempts, or is reported as unschedulable. A stub executes the effects instead of the API server, and the
// pod is converted again, as after a watch event. Serialization, the network and the goroutines that send
// requests are not included. With -shell the informers and the executor of the scheduler are included, with
// reflectors of client-go and an API in memory, as kube-scheduler has them.
//
// A workload takes Berth a fraction of a second. It is repeated with a new machine until there is enough to
// measure. The printed values are means per run.
package main
