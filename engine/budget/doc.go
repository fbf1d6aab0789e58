// Package budget implements PodDisruptionBudget arithmetic. It computes which pods a budget covers and how many
// of them may be disrupted now. It also computes how many disruptions a group of victims consumes of each budget.
//
// StatusInputs.ComputeStatus computes the status that the disruption controller writes. Evictions.Check
// answers a request to the eviction API. Allowances serve preemption. The controllers, the API server and
// the simulator call the same functions.
//
// There are two rules. Ledger is Berth's: the budget's status, a recount of the healthy pods and the
// disruptions granted meanwhile (disruptedPods) must all allow a disruption. StatusOnly is
// kube-scheduler's: status.disruptionsAllowed, even if it is stale.
//
// Invariants:
//
//   - SafeSide: Ledger never allows more than the status.
//   - DebitedOnce: a pod that has an entry in disruptedPods or is being deleted is not debited again.
//   - FailSafe: a budget whose pods cannot be counted allows nothing.
//
// Differences from Kubernetes, with Ledger only:
//
//   - An empty selector covers every pod of the namespace, as in the eviction API and the disruption
//     controller but not in kube-scheduler.
//   - Pods without labels can be covered.
//   - A status of an older generation allows nothing, as in the eviction API.
//
// For eviction requests: a pod under several budgets is evicted if all allow it (kube-apiserver returns 500;
// see RefuseMultiple). An entry for the same pod younger than two minutes counts as debited once the pod has
// the DisruptionTarget condition. Before that its author may still revert it, so other requests must retry
// for 30 s. For the status: an entry older than the pod of that name is dropped. An entry of an unknown pod
// remains for its two minutes, because the pod watch may lag; the disruption controller drops it.
package budget
