// Package chaos lets everybody who displaces pods do so at once in one cluster: evictions by
// request and drains, preemption, NoExecute taints, nodes that are lost or deleted; while
// watches lag, break and repeat, requests conflict and get lost, and every actor is killed
// again and again.
//
// What must hold is what sim checks in every simulation: no displacement that
// obeys budgets goes past one, by a count of the store itself, and each displaced pod has
// one record. Its test does the same with upstream's rule, which trusts a status however
// old it is, and wants to see that fail.
package chaos
