// Package core has the defaulting, preparation and validation of the kinds of the core group that have no other
// package: Node, Namespace, Secret, ResourceQuota, Event and others.
package core
