// Package informers converts the watches of an API server into the ordered events of the
// scheduling machine.
//
// There is one reflector per kind. It converts each object on arrival (internal/conversion) and then
// drops it: the cluster state of the machine is the only copy. This package stores, per kind, a
// map from key to UID, so that a relist emits the changes that a broken watch missed. An object
// that is not in the new list was deleted. An object with another UID was deleted and recreated.
// For pending pods it also stores the PodScheduled condition, for the executor.
//
// Order: events of one kind arrive in the order of their resource versions. There is no order
// between kinds. The scheduler must not decide anything before Synced is closed.
//
// This package watches ResourceClaims and Holds if discovery reports that they are served, or if
// discovery is forbidden. Synced does not wait for ResourceClaims, since they only explain why a pod
// is gated. It waits for Holds if they may be read: the first decision after a restart must take them
// into account.
//
// The API server filters out finished pods (field selector), so the end of a pod arrives as a
// deletion, as in kube-scheduler. The descheduler reads finished pods too (ObserveDetails).
package informers
