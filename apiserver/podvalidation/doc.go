// Package podvalidation decides what a Pod, and any object with a pod template, may say, and what it says
// where its author was silent: API defaulting, preparation for storage, validation and warnings.
//
// It answers for the API server's table of kinds (Pods, workloads, Jobs, Nodes, volumes), always on
// k8s.io/api/core/v1 types. It reads no clock and no store: a decision is a function of the objects
// handed in, except for the transition time that a new SchedulingGated condition gets.
//
// The order is that of kube-apiserver:
//
//	decode -> Default* -> admission -> PrepareFor* -> Validate* -> store
//
// Invariants
//   - Validation never changes an object, preparation never refuses one.
//   - Default* is idempotent: stored objects pass through it again on every read-modify-write.
//   - Reason, field path, order and text of every error are those of kube-apiserver v1.36 with its
//     feature gates as they come; where a map decides an order, keys are sorted.
//
// Departures
//   - Values of whole structs in messages are printed as the v1 type, not as kube-apiserver's internal one.
//   - Fields behind gates that are off by default are cleared on create, as kube-apiserver does,
//     including those it does not know yet (v1.37).
package podvalidation
