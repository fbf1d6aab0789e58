// Command pods measures the embedded runtime on one node. It measures the time to start and to remove a pod and to run
// a command in its container, and the memory of the shims. It starts and removes the pods one after another.
//
// Each pod has a network and one container of the test program (berth.dev/workload:1), which listens on a port. The start
// of a pod ends when the program has been executed. The memory of a shim is its VmRSS in /proc while all pods run. It
// includes the pages of the binary's file, which all shims share.
//
// The command requires root. Run it with make bench-pods.
package main
