// Command descheduler measures Berth's descheduling beside the real descheduler, v0.36.0, in one run.
//
// It is for `make bench-parity`, and a module of its own, since the descheduler's libraries are of another
// release than those of the rest of parity. It makes clusters (shapes.go), writes each to a file, and has the real
// descheduler (this program again, -peer) and Berth (bench/descheduler of the main module) do it in turn
// in processes of their own on the same CPU. It asserts nothing.
//
// The real one is driven as a library: its own loader, profiles, plugins and evictor, informers filled from
// client-go's fake clientset, which grants every eviction at once. What is measured is the strategies alone, without
// the API, the filling of informers and the pauses of its main loop.
package main
