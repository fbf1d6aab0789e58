// Command descheduler compares the cost of Berth's descheduling and of the Kubernetes
// descheduler, v0.36.0, in one run.
//
// `make bench-parity` runs it. It is a separate module, because the descheduler uses
// other versions of the libraries than the rest of parity. It makes clusters (workloads.go),
// writes each to a file, and runs the Kubernetes descheduler (this program with -peer) and
// Berth (bench/descheduler of the main module) on it, alternating, in separate processes
// on the same CPU. It asserts nothing.
//
// The Kubernetes descheduler is used as a library: its own loader, profiles, plugins and
// evictor, with informers filled from the fake clientset of client-go, which grants every
// eviction at once. Only the strategies are measured, without the API, the filling of
// informers and the pauses of its main loop.
package main
