// Package namespace deletes the content of terminating namespaces and then removes their finalizer.
//
//	deletionTimestamp set ─▶ delete pods ─▶ no pods left ─▶ delete all else ─▶ nothing left ─▶ finalize
//	                            ▲  └── pods or finalizers remain: report them in conditions, retry
//
// All namespaced resources that discovery returns are deleted. Pods are deleted first, so that
// network policies and secrets outlast them. The namespace's conditions report what remains, in
// upstream's words.
//
// Invariants, each covered by a test:
//
//   - The finalizer "kubernetes" is removed only if discovery was complete and
//     every list was empty, and not before finalizeDelay has passed since the start of the deletion: a
//     request that was admitted before the deletion may still be written.
//   - Finalizers of objects are never removed.
//   - An error of one resource does not stop the others.
//
// Difference from Kubernetes: content is deleted immediately and finalizeDelay (2 s, of which
// the timestamp's whole seconds can take one) is waited at the end; upstream
// waits 5 s at the beginning.
package namespace
