// Package resource has the defaulting and validation of the kinds of resource.k8s.io.
package resource
