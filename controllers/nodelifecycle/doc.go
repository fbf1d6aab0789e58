// Package nodelifecycle carries out what engine/nodelifecycle decides: conditions of silent
// nodes become Unknown, conditions become taints, pods of nodes that are not ready are not ready either.
//
//	watch of nodes and Leases ──▶ Step ──▶ MarkUnknown ──▶ status of the node, if its Lease is as old on the server
//	             its own clock ──┘    └──▶ Retaint     ──▶ spec.taints, if the node is as it was seen
//	watch of nodes and pods   ──▶ condition Ready of pods False, at once
//
// Taints of others stay as they are. Who is driven out by the taints is decided by engine/tainteviction.
//
// Departures from Kubernetes: before a node is marked its Lease is read from the server, so that a watch
// that lags loses nobody; a node that comes or goes is no event.
package nodelifecycle
