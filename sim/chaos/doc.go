// Package chaos runs everything that displaces pods at once in one cluster: evictions and drains,
// preemption, NoExecute taints, lost and deleted nodes; while watches lag, break and repeat,
// requests conflict and get lost, and every actor is killed repeatedly.
//
// The invariants are those of package sim: no displacement that respects budgets exceeds one, by a
// count of the stored objects, and each displaced pod has one record. The test also runs with
// upstream's rule, which trusts any budget status however old, and expects that to fail.
package chaos
