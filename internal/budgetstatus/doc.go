// Package budgetstatus changes the status of disruption budgets, for internal/displacer and the disruption controller.
//
// A debit adds an entry for each displaced pod to disruptedPods, and takes one allowed disruption for as many pods as
// the budget allows. The disruption controller removes an entry when the pod is deleted, or when the entry expires.
package budgetstatus
