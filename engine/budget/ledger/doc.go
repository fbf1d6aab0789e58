// Package ledger holds what disruption budgets still allow: their status, less the evictions that are decided and not
// observed yet. The planner and the executor of planned moves and the drain use it.
package ledger
