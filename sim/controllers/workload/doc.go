// Package workload simulates the controller of Deployments, ReplicaSets, StatefulSets and DaemonSets: a
// copy of controllers/workload for virtual time.
package workload
