// Package displacement defines displacements: a pod is removed from its node although its owner did not
// request it. A displacement has a cause, a budget policy that follows from the cause, a grace period and
// a record. The pod's DisruptionTarget condition has the record as text; the pod's event and the journal
// have it in full.
//
// Policy by cause, as in Kubernetes:
//
//	API                            obeys budgets
//	Preemption                     obeys budgets first, overrules them if there are no other candidates
//	Taint, PodGC                   ignores budgets
//	Pressure, Admission, Shutdown  ignores budgets: the node acts first, a controller debits later
//
// Other packages select the victims (preemption, tainteviction, nodepressure) and compute the debits (budget). Machine
// decides what is written, in which order, and what is undone; internal/displacer executes its actions.
//
// Difference from Kubernetes: the condition's message contains the requester, the rule with its numbers, and
// what budgets allowed before and after. The message starts with the text of Kubernetes; for an API-initiated
// eviction it is only that text.
package displacement
