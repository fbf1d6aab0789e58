// Package informers turns what an API server says into the ordered events of the
// scheduling machine.
//
// One reflector a kind lists and watches. Each object is compiled by
// internal/conversion as it arrives and then dropped: the machine's cluster state
// is the only copy. What is kept here is a ledger a kind, key to uid, so that
// nothing is missed that happened while a watch was broken: an object that is
// absent from a new list was deleted, one with another uid was deleted and made
// again. Of pods without a node the PodScheduled condition is kept, too, for actuate.
//
// Order: the events of one kind come in the order of their revisions. Between
// kinds no order is promised, and the machine needs none; but nothing should be
// decided before Synced.
//
// ResourceClaims and Holds are read where discovery says that they are served, or may not be asked. Nothing
// waits for ResourceClaims, as a pod is only told by them what holds it. Holds are waited for where
// they may be read: the first decision after a restart must know of them.
//
// Finished pods are left out by the API server (field selector), and their end
// arrives as a deletion, as in kube-scheduler. Who deschedules reads them, too (Show).
package informers
