// Command pods measures the embedded runtime: the time to start and to remove a pod, one
// after another on one node, the time to run a command in its container, and the memory of
// the shims of the containers.
//
// A pod has a network and one container of the built-in workload image, which listens. Its
// start is the start of its sandbox and its container, until the program of the container
// has been executed. RSS is VmRSS of each shim while all pods run, as /proc reports it. It
// includes the pages of the program's file, which all shims share.
//
// It needs root. Run it with make bench-pods.
package main
