// Package budgets relates the disruption budgets of a simulated cluster to its pods: which pods they cover, and the
// status that follows. The eviction API and the invariants use it.
package budgets
