// Package workload decides how many pods a workload should have and which ones to delete. The workload
// controllers and the simulator use it.
//
// It handles counts, names, times and hashes, not templates; the controller turns "create two" into pods.
// Every plan is a function of a snapshot: the desired state, the actual state, and now. A plan returns when to
// plan again (Wake) and stores nothing, so a restarted controller continues where it stopped. The
// controller must include its own writes that its watch has not delivered yet.
//
//	Deployment ──▶ ReplicaSets: replicas of each ──▶ ReplicaSet: create n pods, delete these
//
// Invariants, each with a test:
//
//   - a rollout never requests more than replicas + maxSurge pods;
//   - a rollout never reduces the available pods below replicas - maxUnavailable;
//   - a rollout whose pods become available completes, from every state;
//   - a ReplicaSet deletes first the pods whose loss costs least (RankForDeletion).
//
// Differences from Kubernetes: pods that fail soon after their start are replaced after a delay that doubles
// (BackoffUntil). A rollout counts the pods that a ReplicaSet still has, not only its spec.replicas, so a
// slow ReplicaSet controller cannot break the limits.
package workload
