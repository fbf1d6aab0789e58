// Command run measures Berth beside the real kube-scheduler, v1.36.3, in one run.
//
// It is for `make bench-parity`. It builds both sides, gives the same work to each in
// turn (A B A B ...) in processes of their own on the same CPUs, and prints what each took,
// the ratio with its spread over the rounds, and how that stands to the aims. It
// asserts nothing: a measurement is read by somebody who knows what else the machine did.
//
// Four parts, chosen by -parts:
//
//	inprocess  the shapes of package work, without an API server
//	memory     5,000 nodes and 100,000 pods, without an API server
//	openb      whole GPUs of OpenB's trace asked beyond what there are; BERTH_OPENB names its folder
//	endtoend   both schedulers in turn against the same `berth server`, and a client that binds blindly
package main
