// Package executor carries out the effects of the machines against an API
// server, one file an effect, and words what became of them as outcomes.
//
// Each effect is idempotent and carries the uid of its pod as a precondition, so that
// nothing is done to a namesake. Which outcome an error means:
//
//	no error, or the pod is on that node already     Done
//	409 and the pod is elsewhere, or another pod     Conflict
//	time-outs, 5xx, a lost connection                Unknown: it may have happened
//	anything else (403, 404, 422, 429 ...)           Refused
//
// Effects of one pod are carried out in order, by the worker that its uid
// names; pods do not wait for each other otherwise. Events (of events.k8s.io) are
// written aside, since nothing waits for them; when they cannot be written as fast as they
// come, the oldest wait and the newest are dropped and counted.
//
// Preemption is carried out in steps, each for all victims before the next: the pod is
// nominated, budgets are debited (one update each, which loses to any other writer and is
// tried again), victims get their DisruptionTarget condition. Then each gets its event, and is deleted with its own
// grace: one that may not be deleted stays, and others are chosen. A step that was taken is seen to be taken: the entry in
// disruptedPods, the condition, the event's name, which follows from the pod. So whoever
// repeats it, here or after a crash in another process, makes nothing twice; and a pod
// that is being deleted with the condition has been paid for and told of. Where budgets may
// not be written, victims leave without a debit, as kube-scheduler's do, and that is told.
//
// Displacer is the same for all who displace pods: one pod, one cause, the steps in the same order. Its event
// carries the record, is named after the pod's uid, and is there at most once; a record that others pieced together
// from the pod's condition gives way to it. No pod is deleted before its event is there, unless the server says that it will never take it. A journal gets the record too, where there is one; that it cannot be written stops
// nothing. Whoever writes the record first counts the displacement, once, whatever is repeated and whichever answers are lost.
//
// Extenders are asked over HTTP as kube-scheduler does, one file a verb: filters one
// after the other, each seeing what is left; scores all at once and only while there is a
// choice, times 10 times the extender's weight; victims by node; and the binding through the one
// that binds. An error of one that is not ignorable makes the question Refused, with the
// extender, the verb and what was wrong; other errors are passed over and told of. Pods
// and, for those that do not know nodes by name, nodes are sent as the API has them,
// from a watch that runs only while there are extenders. Questions have workers of their
// own: a slow extender holds up its own pods only.
//
// Departures from kube-scheduler: a node that an extender neither keeps nor gives a
// reason for is refused with a reason that says so; a victim of the preemptor's
// priority or above is not accepted.
//
// Departure from kube-scheduler: a FailedScheduling event whose text differs
// from the one before is an event of its own and not one more of the same series, so
// that the newest reason is always to be seen.
package executor
