// Command cluster lets `berth scheduler` schedule a real Kubernetes, v1.36.3, and
// checks what comes of it. Then it runs `berth controller` with deploy/controller.yaml in place of kube-controller-manager's loops
// for budgets, taints and lost nodes.
//
// It is for `make e2e-kube`. On loopback it starts etcd and the unmodified kube-apiserver, with
// certificates that it makes, applies deploy/scheduler.yaml, and runs the scheduler
// with the token of the service account and the configuration in there: so with the stock
// scheduler's roles and what deploy/ adds, and nothing else. Then 1,000 pods of all shapes arrive,
// some too big, some that must preempt, some with claims of volumes. The command plays
// what a cluster has besides: the kubelet that lets deleted pods go, and the volume controller's
// last step of a binding. For the second part it holds a Lease as kube-controller-manager does (nothing may
// start beside it), renews the Leases of nodes but for one, and taints another. For the third part the real kube-scheduler
// places the pods, and `berth descheduler`, which then can hold no places, is held to move none in vain in five cases that keep others busy for ever. It recounts the outcome from the API's objects alone, prints a
// summary, and ends with 1 if anything is not as it must be.
package main
