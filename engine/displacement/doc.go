// Package displacement says what a displacement is: a pod leaves its node because somebody
// else wants it to. It has a cause, a policy that follows from the cause, a grace period,
// and a record: in the pod's DisruptionTarget condition in words, whole in the pod's
// event and in the journal.
//
// Policy by cause, as the real components behave:
//
//	API                            obeys budgets
//	Preemption                     obeys first, overrules when nothing else helps
//	Taint, PodGC                   never asks
//	Pressure, Admission, Shutdown  never asks: the node kills first, and others book it
//
// Decided elsewhere: who is displaced (preemption, taints, pressure), what that takes from
// budgets (budget), in which order the API is told (actuate).
//
// Departure from Kubernetes: the condition's message says more than the cause: by whom, the
// rule with its numbers, and what budgets allowed before and after. It begins with
// upstream's words; for an eviction that was asked of the API it ends with them, too.
package displacement
