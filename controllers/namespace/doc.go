// Package namespace deletes the content of terminating namespaces and then removes their finalizer.
//
//	deletionTimestamp set ─▶ delete pods ─▶ no pods remain ─▶ delete all other objects ─▶ nothing remains ─▶ finalize
//	                            ▲  └── pods or finalizers remain: report them in conditions, retry
//
// The controller deletes all namespaced resources that discovery returns. It deletes pods first, so that
// network policies and secrets outlast them. The namespace's conditions report what remains, with
// upstream's reasons and messages.
//
// Invariants, each covered by a test:
//
//   - The finalizer "kubernetes" is removed only if discovery was complete and every list was empty.
//     At least finalizeDelay must have passed since the start of the deletion, because the API server
//     may still write requests admitted before it.
//   - Finalizers of objects are never removed.
//   - An error of one resource does not prevent the deletion of others.
//
// Difference from Kubernetes: content is deleted immediately, and the controller waits for
// finalizeDelay at the end. finalizeDelay is 2 s, of which rounding of the timestamp can take 1 s.
// Upstream waits 5 s at the beginning.
package namespace
