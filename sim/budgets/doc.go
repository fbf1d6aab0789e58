// Package budgets holds the disruption budgets of a simulated cluster: which pods they cover, the
// inputs of their status, and the debits in it. Scheduler, eviction API and controllers share it.
package budgets
