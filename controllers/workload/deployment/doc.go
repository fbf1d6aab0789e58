// Package deployment takes Deployments through their rollouts: the shell of engine/workload's
// Deployment over the API. It makes, scales and deletes ReplicaSets, never pods.
//
//	Deployments, ReplicaSets (caches) ──▶ Claim ──▶ Plan ──▶ ReplicaSets ──▶ status, revision
//
// A rollback is what kubectl makes of it: the template of an old revision, for which the old
// ReplicaSet is found again. Differences from Kubernetes: what was written counts before the cache shows it,
// and a step waits until every ReplicaSet has taken notice of the one before (see engine/workload).
// The annotation of extensions/v1beta1 that asks for a rollback is not read.
package deployment
