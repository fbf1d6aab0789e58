// Package workload is what the loops that make pods have in common: which pods are an
// owner's, which were written but are not in the cache yet, and how pods are made and deleted.
//
// It decides nothing; engine/workload does. A loop asks Pods for the pods of an owner (Claim),
// hands them to its machine, and carries out the plan (Create, Delete).
//
// Nothing is made twice because a cache is behind: what was made is counted from then on, what was
// deleted counts as deleted, until the cache knows. Where the answer to a create was
// lost, the pod is counted too, since the name was chosen here and can be asked for. Kubernetes counts
// expected events instead, which must be forgotten after five minutes if one was missed; here the API server is
// asked after ten seconds what became of a pod that the cache does not show.
//
// Pods are adopted if the owner's selector matches them and they have no controller, and released
// when it matches no longer; both only by an owner that is not about to be deleted, as
// the API server, not the cache, says.
package workload
