// Command bench compares the cost of Berth and of kube-scheduler, v1.36.3, in one run.
//
// `make bench-parity` runs it. It builds both sides and gives the same workload to each,
// alternating (A B A B ...), in separate processes on the same CPUs. It prints the cost of
// each, the ratio with its spread over the rounds, and the targets. It asserts nothing,
// because other load on the machine changes the results.
//
// There are four parts, selected with -parts:
//
//	inprocess  the workloads of package workload, without an API server
//	memory     5,000 nodes and 100,000 pods, without an API server
//	openb      OpenB's trace, requesting more whole GPUs than exist; BERTH_OPENB names its directory
//	endtoend   both schedulers with the same `berth server`, and a client that binds round-robin
package main
