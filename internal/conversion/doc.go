// Package conversion converts API objects into engine/model values. It does not convert back.
//
// Conversion is total: every object, even one that no API server would accept, becomes a model
// value. A malformed field becomes a model.ParseError with the path of the field and kube-scheduler's error
// message, because kube-scheduler does not drop such pods.
//
// Pod specifications are interned. Every field of a pod that placement reads is written to a key
// (key.go), and pods with equal keys share one *model.PodSpec. A ReplicaSet of ten thousand pods is
// converted once, and equal pointers mean that two pods are equivalent. The table has two
// generations and is therefore bounded. A specification that was evicted from the table is converted
// again when it returns, and then has a new pointer.
//
// Invariant: pods with equal keys have equal converted specifications. A change of podspec.go that
// reads another field must add the field to key.go; a test that changes random fields checks this.
//
// Containers and probes become values of engine/podlifecycle (podlifecycle.go), for node agents and simulated nodes.
//
// In-tree volumes are translated to their CSI drivers, including topology labels, by the upstream
// library.
package conversion
