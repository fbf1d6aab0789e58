// Package scheme turns the table of kinds into the schemes and codecs that the
// generic API server works with.
//
// The k8s.io/api types are the storage types, so every Go type is registered
// twice: as its version and as the group's __internal version, to which the
// library decodes. No conversion is generated or needed; the exception is a
// kind that shares another's store (events.k8s.io), whose row brings its
// conversions.
//
// Invariant: the external scheme holds the same types without the internal
// versions. OpenAPI names are made from it, because __internal must not appear
// in x-kubernetes-group-version-kind.
package scheme
