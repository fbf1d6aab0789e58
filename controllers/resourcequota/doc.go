// Package resourcequota maintains the status of ResourceQuotas: the limits of the spec and what the objects of the
// namespace use. Admission in the API server charges new objects; this controller counts what exists, and releases
// what was deleted.
//
// It counts pods, Services and claims from shared informers. For the objects of count/RESOURCE.GROUP, it starts watches
// of the metadata of the resources that quotas count.
//
// Invariant: the usage in the status is lowered only if the quota has not been charged for one second. Until then,
// admitted objects may be missing in the caches. kube-controller-manager lowers it immediately, so concurrent creates
// can exceed a quota there.
package resourcequota
