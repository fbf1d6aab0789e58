// Package thrashing simulates clusters in which the Kubernetes descheduler evicts pods without
// reaching its goal, round after round, and counts the evictions.
//
// Each case was reported by users: a cluster (a scenario of sim/script), a policy, and the goal of
// the policy. It runs with scheduler and descheduler in three variants: planned with Holds, planned
// with a scheduler that ignores Holds, and compatible, as the Kubernetes descheduler. In planned
// mode no evicted pod may return to the node it left, and nothing may be evicted once the goal is
// reached. Compatible mode does both, which shows that the cases reproduce the reports.
package thrashing
