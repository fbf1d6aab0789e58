// Command inprocess runs Berth's scheduling machine on a Workload in process and prints
// the cost as one line of JSON.
//
// parity/bench (make bench-parity) starts it, alternating with kube-scheduler.
// parity/workload documents Workload; the two structs here have the same fields. A pod
// takes the whole path: the corev1.Pod is converted when it arrives, queued, decided,
// assumed and bound (or it preempts, or is reported as unschedulable). A stub in place of
// the API server grants that, and the pod is observed and compiled again, as the watch would
// show it. Serialization, the network and the goroutines that send requests are not
// included. With -shell the informers and the executor of the scheduler are included, with
// reflectors of client-go and an API in memory, as kube-scheduler has them; that costs
// more.
//
// A workload takes Berth a fraction of a second. It is repeated with a new machine until
// there is enough to measure. The printed values are means per run.
package main
