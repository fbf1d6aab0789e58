// Package replicaset keeps the desired number of pods of each ReplicaSet and ReplicationController. It runs
// engine/workload's ReplicaSet against the API.
//
//	ReplicaSets, pods (caches), Holds ──▶ Claim ──▶ Plan ──▶ create or delete pods ──▶ status
//
// Differences from Kubernetes: a lagging cache causes neither duplicates nor delays (see
// controllers/workload), and pods that fail immediately are recreated after a backoff that doubles.
package replicaset
