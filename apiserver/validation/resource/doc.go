// Package resource has the defaulting and validation of the kinds of resource.k8s.io.
//
// Most rules are those that Kubernetes generates into k8s.io/api. The others cover names and counts, but not CEL
// expressions or the contents of pools.
package resource
