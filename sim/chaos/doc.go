// Package chaos runs all causes of displacement at once in one cluster: evictions, drains,
// preemption, NoExecute taints, unreachable and deleted nodes. Meanwhile watches lag, break and repeat
// events, requests conflict and get lost, and every actor is killed repeatedly.
//
// The invariants are those of sim/invariants: no displacement that respects budgets exceeds one, by
// a count of the stored objects, and each displaced pod has one record. The test also runs with
// upstream's rule, which trusts a stale budget status, and expects a violation.
package chaos
