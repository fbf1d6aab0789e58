// Package core has the defaulting, preparation and validation of the kinds of the core group that
// have no package of their own, such as Node, Namespace, Secret, ResourceQuota and Event.
package core
