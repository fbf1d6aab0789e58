// Package rbac has the defaulting and validation of the kinds of rbac.authorization.k8s.io.
package rbac
