// Package resource has the defaulting and validation of the kinds of resource.k8s.io.
//
// Validation covers names and counts, but not CEL expressions or the contents of pools.
package resource
