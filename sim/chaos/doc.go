// Package chaos runs all causes of displacement at once in one cluster: evictions, drains,
// preemption, NoExecute taints, unreachable and deleted nodes, and a descheduler. Meanwhile watches lag, break
// and repeat events, requests conflict and get lost, and actors are killed repeatedly.
//
// The invariants are those of sim/invariants: no displacement that respects budgets exceeds one, by
// a count of the stored objects, and each displaced pod has one record. The tests also run with
// upstream's rule, which trusts a stale budget status, and expect a violation.
package chaos
