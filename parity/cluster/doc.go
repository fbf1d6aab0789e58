// Command cluster runs `berth scheduler` on a Kubernetes API server, v1.36.3, and checks
// the outcome. Then it runs `berth controller` with deploy/controller.yaml in place of
// kube-controller-manager's controllers for budgets, taints and unreachable nodes.
//
// `make e2e-kube` runs it. It starts etcd and the unmodified kube-apiserver on loopback
// with certificates that it makes. It applies deploy/scheduler.yaml, and runs the scheduler
// with the arguments and the configuration in that file, and a token of its service account.
// So the scheduler has exactly the permissions of the default roles and of deploy/. Then the
// command creates 1,000 pods of all workloads. Some are too big, some must preempt, and some
// have claims. The command simulates the other components: the kubelet that removes deleted
// pods, and the last step of the volume controller for a binding.
//
// For the second part the command holds a Lease as kube-controller-manager does, and checks
// that `berth controller` does not start meanwhile. Then it renews the Leases of all nodes
// except one, and taints another node.
//
// For the third part kube-scheduler places the pods, so `berth descheduler` cannot use
// Holds. It must not move pods without effect in five cases in which compatible mode evicts
// pods repeatedly.
//
// It checks the outcome with the API objects alone, prints a summary, and exits with 1 if
// a check fails.
package main
