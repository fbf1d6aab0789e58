// Package thrashing simulates clusters in which the Kubernetes descheduler evicts pods without
// reaching its goal, round after round, and counts the evictions.
//
// A case is a cluster (a scenario of sim/script), a policy, and the goal of the policy. Most cases
// are issues of kubernetes-sigs/descheduler. Each case runs with scheduler and descheduler in three
// variants: planned with Holds, planned with a scheduler that ignores Holds, and compatible, as the
// Kubernetes descheduler. In planned mode no evicted pod may return to the node it left, and nothing
// may be evicted once the goal is reached. In compatible mode pods return in every case, which shows
// that the cases reproduce the problem.
package thrashing
