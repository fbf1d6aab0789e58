// Package v1alpha1 is Berth's own kind of the Kubernetes API, Hold, for those who
// read and write it.
//
// A Hold is what one actor tells another about a place: the descheduler has found a
// better node for a pod and wants its room kept until the replacement is there
// (Reserve), or a node has thrown an owner's pods out and should be left alone for a
// while (Avoid). It is only a hint with an end: whoever does not know the kind places pods as
// ever, and where it cannot be stored there are none.
//
// Holds are named by cluster.HoldName, so that there is one of a type for an owner
// on a node, but for what a descheduler remembers (plan.VainHold). Berth's API server has a row for them; deploy/hold-crd.yaml serves them
// on any other.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.berth.v1alpha1
package v1alpha1
