// Package namespace empties a namespace that is being deleted, and lets it go
// when nothing is left.
//
//	deletionTimestamp set ─▶ delete pods ─▶ pods gone ─▶ delete all else ─▶ nothing left ─▶ finalize
//	                            ▲  └── pods remain, or finalizers hold objects: say so, look again
//
// Everything the server serves by namespace is deleted, whatever its kind:
// what there is comes from discovery. Pods go first, so that the network
// policies and secrets they live by outlast them. What is in the way is told in
// the namespace's conditions, in upstream's words.
//
// Invariants, each held by a test:
//
//   - The finalizer "kubernetes" is taken off only when discovery was complete and
//     every list came back empty, settle after the deletion began: a request that was
//     admitted before the deletion may still be writing.
//   - Finalizers of objects are never taken off here.
//   - A failure of one kind does not stop the others.
//
// Departure from Kubernetes: content is deleted at once and settle (2 s, of which
// the timestamp's whole seconds can take one) is waited at the end; upstream
// waits 5 s at the beginning.
package namespace
