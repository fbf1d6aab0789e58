// Package workload simulates the controller of Deployments, ReplicaSets, StatefulSets and DaemonSets. It
// is the counterpart of controllers/workload under virtual time.
package workload
