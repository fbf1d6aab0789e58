// Command pods measures the embedded runtime on one node. It measures the time to start a pod and to remove
// it, the time to run a command in its container, and the memory of the shims of the containers. Pods are
// started and removed one after the other.
//
// A pod has a network and one container of the built-in workload image, which listens. Its start is the start
// of its sandbox and its container, until the program of the container has been executed. RSS is VmRSS of
// each shim while all pods run, as /proc reports it. It includes the pages of the program's file, which all
// shims share.
//
// The command requires root. Run it with make bench-pods.
package main
