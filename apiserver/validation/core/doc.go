// Package core has the defaulting, preparation and validation of the kinds of the core group that
// have no other package, such as Node, Namespace, Secret, ResourceQuota and Event.
package core
