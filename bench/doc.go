// Package bench measures the time and allocations of Engine.Decide alone, in process. It covers common kinds
// of pods and several sizes of cluster. It also measures preemption, pending pods, the whole path of a pod,
// and packing.
//
// The benchmarks of decisions read the clock before and after each decision and subtract the overhead of
// the clock. They do not count other work between decisions, such as assuming the pod or removing a pod.
// "churn" adds a heartbeat for each decision and a changed label for each hundredth, and removes random pods
// instead of the oldest. Run the package with make bench on an idle machine.
package bench
