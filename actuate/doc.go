// Package actuate carries out the effects of the machines against an API
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
// Departure from kube-scheduler: a FailedScheduling event whose text differs
// from the one before is an event of its own and not one more of the same series, so
// that the newest reason is always to be seen.
package actuate
