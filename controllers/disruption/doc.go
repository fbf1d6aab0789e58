// Package disruption is the loop that keeps the status of disruption budgets, which
// everybody who obeys budgets goes by. The arithmetic is engine/budget's; what is here brings
// pods and the numbers that their controllers want to it, and writes what comes out.
//
//	budget, pod, or scale of a controller changed -> count -> status of the budget
//	entry of disruptedPods older than 2 min       -> count again
//	DisruptionTarget true for 2 min, not deleting -> condition set to False
//
// The status is one update with the resource version of the budget that was counted
// from: who debits a budget meanwhile wins, and the count is made again. A pod that its node has
// evicted or rejected is booked by the same count, since it is not ready any more.
//
// Departures from Kubernetes: a change of a controller's scale is noticed at once, not with the
// next change of a pod; an entry that is older than the pod of its name is dropped; an event is told
// when what it says changes, not with every count; NotDeleted names the budget.
package disruption
