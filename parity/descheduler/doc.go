// Command descheduler compares the cost of Berth's descheduling and of the Kubernetes
// descheduler, v0.36.0, in one run.
//
// `make bench-parity` runs it. It is a separate module, because the descheduler uses
// other versions of the libraries than the other packages of parity. It makes clusters
// (workloads.go) and writes each to a file. Then it runs the Kubernetes descheduler (this
// program with -peer) and Berth (bench/descheduler of the main module) on it. The two
// alternate, in separate processes on the same CPU. The command asserts nothing.
//
// The Kubernetes descheduler is used as a library, with its loader, profiles, plugins and
// evictor. Its informers are filled from the fake clientset of client-go, which grants every
// eviction at once. Only the strategies are measured, without the API, the filling of
// informers and the pauses of its main loop.
package main
