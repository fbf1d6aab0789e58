// Package model holds the values that Berth decides about: pods, nodes,
// volumes, budgets, selectors. They are what Kubernetes objects are compiled to
// at the door (internal/conversion), once, and only in that direction.
//
// The values carry no tags, no behaviour beyond matching, and no reference to
// Kubernetes' own types, so that everything above them builds in a second and
// can be used as a library.
//
// Ownership: a value handed to the engine is immutable from then on. PodSpec
// values are shared between all pods that were compiled from equal
// specifications; the pointer is the identity of "placed alike" as far as the
// specification goes.
//
// Malformed parts of an accepted object do not vanish at the door: they are
// kept as Faults, with the path of the field, because kube-scheduler gives
// verdicts on them (a malformed required term matches nothing, a malformed
// preferred one fails the attempt).
package model
