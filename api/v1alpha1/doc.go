// Package v1alpha1 defines Hold, the only API kind of Berth.
//
// A Hold carries a placement hint from one actor to another. With a Reserve Hold the descheduler reserves capacity on a
// better node until the replacement of a pod exists. An Avoid Hold keeps the pods of an owner off a node that
// evicted or rejected them. A Hold expires. Schedulers without support for the kind ignore it, and where the kind is
// not served there are no Holds.
//
// Holds are named by cluster.HoldName: there is one of each type per owner and node. The exceptions are the Holds in
// which a descheduler records futile moves. Berth's API server serves the kind; on other API servers
// deploy/hold-crd.yaml adds it.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.berth.v1alpha1
package v1alpha1
