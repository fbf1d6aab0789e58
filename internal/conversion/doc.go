// Package conversion turns Kubernetes objects into engine/model values, at the door
// and in that direction only.
//
// It is total: whatever an API server has accepted (and much that none would)
// becomes a model value. What is malformed becomes a model.Fault with the path
// of the field and kube-scheduler's own words, because kube-scheduler gives
// verdicts on such pods instead of dropping them.
//
// Pod specifications are interned. Of a pod everything that placement reads is
// written to a key (key.go); equal keys share one *model.PodSpec, so a
// ReplicaSet of ten thousand pods is compiled once and the pointer tells the
// engine that two pods are placed alike. The table has two generations and so a
// bound; a specification that falls out is compiled again when it returns, and
// then has another pointer.
//
// Invariant: two pods with equal keys compile to equal specifications. Whoever
// makes podspec.go read another field adds it to key.go; a test that changes
// fields at random holds the two together.
//
// What runs in a pod becomes values of engine/podlifecycle (life.go), for the agent and
// for the simulated one.
//
// In-tree volumes are translated to what their CSI drivers know, topology
// labels included, by Kubernetes' own library for that.
package conversion
