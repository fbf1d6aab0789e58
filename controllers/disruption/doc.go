// Package disruption maintains the status of PodDisruptionBudgets. The computation is in engine/budget; this package
// supplies pods and the scales of their controllers and writes the result.
//
//	budget, pod, or scale of a controller changed -> compute -> status of the budget
//	entry of disruptedPods older than 2 min       -> compute again
//	DisruptionTarget true for 2 min, not deleting -> condition set to False
//
// The status update carries the resource version of the budget that was read. If another actor debits the budget
// meanwhile, that update wins and the controller computes the status again. A pod that its node has evicted or rejected
// is no longer ready, so the computation accounts for it.
//
// Differences from Kubernetes:
//
//   - A change of a controller's scale has immediate effect, not only with the next change of a pod.
//   - The controller drops an entry of disruptedPods that is older than the pod with its name.
//   - It records an event when the event's content changes, not with every computation.
//   - The event NotDeleted names the budget.
package disruption
