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
// Events writes events (events.k8s.io) in the background. If they arrive faster than it can write them, it drops and
// counts the newest.
//
// For a preemption the executor nominates the pod and displaces the victims (internal/displacer). If the API server
// forbids a deletion, the executor undoes the displacement and the scheduler selects other victims. If the API server
// forbids updates of budgets, the executor deletes victims without a debit, as kube-scheduler does, and reports that.
//
// Extenders calls extenders over HTTP, as kube-scheduler does, with one file per verb. It makes filter calls in
// sequence, each with the remaining nodes. It makes prioritize calls in parallel, and only if more than one node
// remains. It multiplies their scores by 10 and by the weight. It reports errors of prioritize calls and of ignorable
// extenders, and continues without these calls. Any other error makes the effect Refused, or Unknown if a bind call may
// have succeeded. The reason names the extender, the verb and the error.
//
// Extenders sends pods as the API returns them, and nodes too if an extender is not nodeCacheCapable. It reads them
// from a watch that runs only while extenders are configured. Extender calls have separate workers, so a slow extender
// delays only its pods.
//
// Differences from kube-scheduler:
//
//   - If an extender removes a node without a reason, the recorded reason names the extender.
//   - Berth does not accept a victim with the preemptor's priority or above.
//   - A FailedScheduling event with a new message is a new event. It is not part of the same series, so the
//     newest reason is visible.
package executor
