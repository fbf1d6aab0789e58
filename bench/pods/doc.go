// Command pods measures the embedded runtime: how long a pod takes to start and to be removed, one after
// another on one node, and how much memory the shims of their containers hold.
//
// A pod has a network and one container of the built-in workload image, which listens; its start is
// that of its sandbox and its container, until the container's program has been
// executed. RSS is VmRSS of each shim once all pods run, as /proc tells it: pages of the program's file
// that all shims share are counted in each.
//
// It needs root. Run it by make bench-pods.
package main
