// Package podvalidation validates pods and pod templates: on create, on update, and on updates of
// the status, ephemeralcontainers and resize subresources.
//
//	decode -> poddefaults -> admission -> podstrategy -> podvalidation -> store
//
// The table of kinds calls this package for Pods, and package validation calls it for the templates of workloads. It
// validates k8s.io/api/core/v1 types and reads no other objects.
//
// Invariants:
//
//   - Validation does not modify objects.
//   - Reason, field path, order and text of every error are those of kube-apiserver v1.36 with its
//     default feature gates. Where the order depends on a map, keys are sorted.
//
// Differences from kube-apiserver:
//
//   - Messages print whole structs as the v1 type and not as the internal type.
//   - The fields of disabled feature gates are cleared on create, as in kube-apiserver, including
//     fields that v1.36 does not have yet.
package podvalidation
