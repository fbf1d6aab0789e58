// Package model defines the values that the engine works with: pods, nodes, volumes,
// budgets and selectors. Package internal/conversion converts Kubernetes objects to them,
// once per object and in this direction only.
//
// The values have no struct tags, no behavior beyond matching and no dependency on Kubernetes packages. The engine can
// therefore be used as a library.
//
// A value passed to the engine is immutable. Pods with equal specifications share one
// PodSpec; the pointer is its identity.
//
// Malformed parts of an accepted object are stored as ParseErrors with the path of the field,
// because kube-scheduler returns verdicts for them. A malformed required term matches no node;
// a malformed preferred one fails the attempt.
package model
