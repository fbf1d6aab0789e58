// Package executor executes the effects of the scheduling machine against an API server and returns each result
// as an outcome. There is one file per effect.
//
// Each effect is idempotent and has the UID of its pod as a precondition. Errors map to outcomes as follows:
//
//	no error, or the pod is on that node already     Done
//	409 and the pod is elsewhere, or replaced        Conflict
//	timeouts, 5xx, a lost connection                 Unknown: the request may have succeeded
//	anything else (403, 404, 422, 429 ...)           Refused
//
// Executor is synchronous code. A Pool runs it with goroutines. One worker executes the effects of a pod in order;
// different pods do not wait for each other. The simulator runs it in coroutines (sim/scheduler).
// Events (events.k8s.io) are written in the background. If they arrive faster than they can be written, the
// newest are dropped and counted.
//
// For a preemption the executor nominates the pod and displaces the victims (internal/displacer). If a deletion is
// forbidden, the displacement is undone and the scheduler chooses other victims. If the API server forbids updates of
// budgets, victims are deleted without a debit, as in kube-scheduler, and the omission is reported.
//
// Extenders are called over HTTP as kube-scheduler does, with one file per verb. Filter calls are made in sequence,
// each with the remaining nodes. Prioritize calls are made in parallel, and only if more than one node remains;
// their scores are multiplied by 10 and by the weight. Errors of prioritize calls and of ignorable extenders are
// reported and ignored. Any other error makes the call Refused, or Unknown if a bind call may have succeeded. The
// reason names the extender, the verb and the error.
// Pods are sent as the API returns them, and so are nodes if an extender is not nodeCacheCapable. They are read from
// a watch that runs only while extenders are configured. Extender calls have separate workers, so a slow extender
// delays only its pods.
//
// Differences from kube-scheduler:
//
//   - If an extender removes a node without a reason, the recorded reason names the extender.
//   - A victim with the preemptor's priority or above is not accepted.
//   - A FailedScheduling event with a new message is a new event. It is not part of the same series, so the
//     newest reason is visible.
package executor
