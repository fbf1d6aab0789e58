// Package endpoints says where the pods of a Service are: in EndpointSlices, and in
// Endpoints for those who still read them.
//
//	Service, its pods, their nodes ─▶ one key a Service ─┬─▶ EndpointSlices (k8s.io/endpointslice's reconciler)
//	                                                     └─▶ Endpoints
//	Endpoints of others, for a Service without selector ─▶ mirrored EndpointSlices
//
// A pod is serving while it is Ready, terminating from its deletionTimestamp on, and ready
// when it is serving and not terminating, or when the Service publishes addresses that are not ready.
// A terminating pod stays in the slices until it is gone or ended, and is in no Endpoints.
//
// Invariants, each held by a test:
//
//   - A pod that is deleted stops being ready in the first write after its deletionTimestamp is seen.
//   - Slices that another controller manages, and Endpoints of a Service without selector, are left alone.
//   - Slices are not written from a cache that has not seen the last write.
//   - What Kubernetes' controllers have written goes on as it is: the names in managed-by are theirs, and their twins are in controllers/upstreamguard.
//
// Departures from Kubernetes: one loop writes both kinds; a Service of many pods is looked at
// less often while its pods change (pace a pod), so that a rollout of thousands costs a bounded share of
// a processor; slices of a deleted Service are deleted here, and not only where garbage is collected.
// Mirrored slices have upstream's shape: ports with the same addresses together, one slice a family. Of more than 1,000 addresses with
// the same ports the first 1,000 are mirrored, and what is no address is not; upstream tells of both by an event.
package endpoints
