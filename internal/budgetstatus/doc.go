// Package budgetstatus changes the status of disruption budgets. Package executor (preemption and other displacements),
// the eviction API, the disruption controller and their simulated versions share it.
//
// A debit adds an entry for each displaced pod to disruptedPods, and takes one allowed disruption for as many pods as
// the budget allows. The disruption controller removes an entry when the pod is deleted, or when the entry expires.
package budgetstatus
