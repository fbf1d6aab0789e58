// Package replicaset keeps as many pods of each ReplicaSet, or ReplicationController, as it asks for: the shell
// of engine/workload's ReplicaSet over the API.
//
//	ReplicaSets, pods (caches), Holds ──▶ Claim ──▶ Plan ──▶ create or delete pods ──▶ status
//
// Differences from Kubernetes: nothing is made twice or late because a cache is behind (see
// controllers/workload), and pods that die on the spot are made again after a pause that doubles.
package replicaset
