// Package endpoints maintains the EndpointSlices of Services, and the deprecated Endpoints.
//
//	Service, its pods, their nodes ─▶ one key per Service ─┬─▶ EndpointSlices (k8s.io/endpointslice's reconciler)
//	                                                       └─▶ Endpoints
//	Endpoints that a user writes for a Service without selector ─▶ mirrored EndpointSlices
//
// A pod is serving while it is Ready, and terminating from its deletionTimestamp on. It is ready when it is serving and
// not terminating, or when the Service publishes not-ready addresses. A terminating pod stays in the slices until it is
// deleted or finished. It is in no Endpoints.
//
// Invariants, each covered by a test:
//
//   - A deleted pod is not ready in the first write after its deletionTimestamp is observed.
//   - Slices with another managed-by label, and Endpoints of a Service without selector, are not changed.
//   - Slices are not written from a cache that does not show the last write.
//   - Objects that upstream's controllers created are maintained: the managed-by labels are upstream's, and
//     controllers/upstreamguard lists the controllers.
//
// Differences from Kubernetes: one controller writes both kinds. The more pods a Service has, the less often it is
// reconciled while they change (perPodDelay). A rollout of thousands of pods then costs a bounded share of a CPU.
// Slices of a deleted Service are deleted here and not only by the garbage collector. Mirrored slices have upstream's
// form: ports with the same addresses share a slice, and each address family has its own. At most the first 1,000
// addresses with the same ports are mirrored, and invalid addresses are skipped. Upstream also records events for both.
package endpoints
