// Package workload decides how many pods a workload should have, and which ones go: for
// controllers/workload over the API and for the simulator alike.
//
// It knows counts, names, times and hashes, never templates: those stay in the shell, which
// turns "make two" into pods. Every decision is a function of a snapshot: what is asked for, what
// there is, and now. What a plan needs later is told as a time (Wake), and nothing is remembered
// in between, so that a loop that was restarted goes on as if nothing had happened. What the shell
// wrote but does not see yet is its own affair: it hands in what it knows to be there.
//
//	Deployment ──▶ ReplicaSets: how many pods each ──▶ ReplicaSet: make n, delete these
//
// Invariants, each held by a test:
//
//   - a rollout never asks for more than replicas + maxSurge pods;
//   - a rollout never takes what is available below replicas - maxUnavailable;
//   - a rollout whose pods become available ends, from every state;
//   - of the pods of a ReplicaSet those go first whose loss costs least (Rank).
//
// Departures from Kubernetes: pods that die on the spot are made again after a pause that
// doubles (Pause), and a rollout counts the pods that a ReplicaSet still has, not only
// those that it is to have, so that a slow ReplicaSet loop cannot break its limits.
package workload
