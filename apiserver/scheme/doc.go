// Package scheme builds the schemes and codecs of the table of kinds.
//
// The k8s.io/api types are also the storage types. So each Go type is registered in its version, and
// as the __internal version of its group, to which k8s.io/apiserver decodes. No conversions are
// needed, except for a kind that shares the store of another kind (events.k8s.io) or of another version
// (autoscaling/v1).
//
// The external scheme has no internal versions. OpenAPI names come from it, because
// x-kubernetes-group-version-kind must not contain __internal.
package scheme
