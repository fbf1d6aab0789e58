// Package executor carries out the effects of the scheduling machine against an API server and returns each result
// as an outcome. There is one file per effect.
//
// Each effect is idempotent and has the UID of its pod as a precondition. Errors map to outcomes as follows:
//
//	no error, or the pod is on that node already     Done
//	409 and the pod is elsewhere, or replaced        Conflict
//	timeouts, 5xx, a lost connection                 Unknown: the request may have succeeded
//	anything else (403, 404, 422, 429 ...)           Refused
//
// The effects of one pod are carried out in order, by one worker; different pods do not wait for each other.
// Events (events.k8s.io) are written in the background. If they arrive faster than they can be written, the
// newest are dropped and counted.
//
// Preemption runs in steps, each for all victims before the next. The executor nominates the pod, debits the
// disruption budgets (one update each, retried on conflict) and sets the DisruptionTarget condition of the victims.
// Then it writes the event of each victim and deletes it with its own grace period. If a deletion is forbidden, the
// victim stays and the scheduler chooses others. Each step leaves a trace: the entry in disruptedPods, the
// condition, the name of the event, which is derived from the pod. A repetition, also by another process after a
// crash, therefore repeats no step. If budgets must not be written, victims are deleted without a debit, as in
// kube-scheduler, and the omission is reported.
//
// Displacer runs the same steps for all other actors that displace pods. The event carries the displacement record,
// is named after the pod's UID, and exists at most once. It replaces a record that was reconstructed from the pod's
// condition. No pod is deleted before its event exists, unless the API server rejects the event permanently. The
// record is also appended to the journal, if there is one; a journal error does not stop the displacement. The
// first writer of the record counts the displacement, once, across repetitions and lost responses.
//
// Extenders are called over HTTP as kube-scheduler does, with one file per verb. Filter calls are made in sequence,
// each with the remaining nodes. Prioritize calls are made in parallel, and only if more than one node remains;
// their scores are multiplied by 10 and by the weight. An error of an extender that is not ignorable makes the call
// Refused, with a reason that names the extender, the verb and the error. Other errors are reported and ignored.
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
