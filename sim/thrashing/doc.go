// Package thrashing plays clusters in which the Kubernetes descheduler evicts pods without success, cycle after cycle, and counts.
//
// Each case is one that users have told of: a cluster (a scenario of sim/script), a policy, and the goal that the policy
// is for. It is played with scheduler and descheduler under virtual time in three ways: planned with
// places held, planned beside a scheduler that knows no Holds, and compatible, as the Kubernetes descheduler
// does it. What is held against a plan: no evicted pod comes back to the node that it left, and nothing is evicted once the
// goal is reached. That compatible mode does both shows that the cases are what they are said to be.
package thrashing
