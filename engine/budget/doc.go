// Package budget is the arithmetic of disruption budgets: which pods a budget
// covers, how many of them may leave now, and what a group of pods that is to leave takes from
// which budget. Preemption asks it, and so does whoever else obeys budgets. Facts.Count is the
// status that the disruption loop writes; Evictions.Judge is the answer to a request to evict a pod. The
// loop, the API server and the simulator call the same functions.
//
// Two rules are known. Ledger is Berth's: a pod may leave only if the budget's
// status, and our own count of the pods that are healthy, and what others have been
// granted meanwhile (disruptedPods), all allow it. Stale is kube-scheduler's: status.disruptionsAllowed as it stands,
// however old it is.
//
// Invariants:
//
//   - SafeSide: Ledger never allows more than the status says.
//   - PaidOnce: a pod with an entry in disruptedPods, or that is being deleted,
//     takes nothing from a budget again.
//   - FailSafe: a budget whose pods cannot be counted allows nothing.
//
// Departures from Kubernetes, under Ledger alone: an empty selector covers every
// pod of the namespace, as the eviction API and the disruption controller have it
// (policy/v1) and kube-scheduler has not; pods without labels can be covered; a status that was made for an
// older generation of the budget allows nothing, as with the eviction API.
//
// Of requests to evict: a pod under several budgets may go if all allow it (kube-apiserver
// answers 500; RefuseSeveral), an entry for the same pod that is younger than two minutes has been paid, once the pod is
// marked: until then whoever made it may take it back, so that others are asked to come again for 30 s. Of counts: an entry
// that is older than the pod of its name is dropped, and one of a pod that the loop does not know stays its two minutes
// (the disruption controller drops it at once, and counts the pod as healthy when a late watch brings it).
package budget
