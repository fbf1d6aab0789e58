// Package deployment rolls out Deployments. It runs engine/workload's Deployment against the API. It creates, scales
// and deletes ReplicaSets, never pods.
//
//	Deployments, ReplicaSets (caches) ──▶ Claim ──▶ Plan ──▶ ReplicaSets ──▶ status, revision
//
// A rollback with kubectl restores the template of an old revision. The controller reuses its ReplicaSet.
//
// Differences from Kubernetes: writes count before the cache shows them, and a step waits until every ReplicaSet has
// observed the previous one (see engine/workload). The rollback annotation of extensions/v1beta1 is not supported.
package deployment
