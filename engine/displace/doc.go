// Package displace says what a displacement is: a pod leaves its node because somebody
// else wants it to. It has a cause, a policy that follows from the cause, the pod's own
// grace period, and a record, which the pod carries in its DisruptionTarget
// condition and whose short form is its event.
//
// Decided elsewhere: who is displaced (preemption), what that takes from budgets
// (budget), in which order the API is told (actuate).
//
// Causes are added with those who displace by them; the one that there is, is preemption.
//
// Departure from Kubernetes: the condition's message says more than that a pod was
// preempted: by whom, and what budgets allowed before and after. It begins with
// kube-scheduler's words.
package displace
