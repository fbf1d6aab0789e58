// Package workload runs the controllers of Deployments, ReplicaSets, StatefulSets and DaemonSets (controllers/workload)
// in the simulator, as the actor "workload".
package workload
