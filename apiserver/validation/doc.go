// Package validation decides what an object of any kind but Pod may say, and what it
// says where its author was silent: API defaults, preparation for storage,
// validation and warnings, on the public k8s.io/api types.
//
// It answers for the API server's table of kinds (apiserver/kinds), one set of
// functions a kind, of which a kind has only those that it needs:
//
//	Default<Kind>(obj)                   fields left out; idempotent, runs on every decode
//	Prepare<Kind>ForCreate(obj)          what a creator may not choose
//	Prepare<Kind>ForUpdate(obj, old)     what an update may not choose
//	Prepare<Kind>StatusUpdate(obj, old)  the same on the status subresource
//	Validate<Kind>(obj)                  all faults of a new object, metadata included
//	Validate<Kind>Update(obj, old)       all faults of an update, those of obj itself included
//	Validate<Kind>StatusUpdate(obj, old) all faults of a status update
//	<Kind>Warnings(ctx, obj, old)        texts for the client; old is nil on creation
//
// Status is kept apart from spec, and metadata.generation is counted, by the registry.
// Pod templates inside workloads are judged by apiserver/podvalidation.
//
// Invariants
//   - Validation never changes an object, preparation never refuses one.
//   - A decision is a function of the objects handed in; only transition times read the clock.
//   - Reason, field path, order and text of every fault are those of kube-apiserver
//     v1.36 with its feature gates as they come; where it walks a map, keys are sorted here.
//
// Departures from kube-apiserver: whole structs in messages are printed as the
// v1 type with JSON names, except the few that clients see often (taints, update
// strategies, budgets), which are printed like its internal types.
package validation
