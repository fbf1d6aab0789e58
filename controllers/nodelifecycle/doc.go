// Package nodelifecycle executes the decisions of engine/nodelifecycle. It sets the conditions of unresponsive
// nodes to Unknown, converts conditions to taints, and marks the pods of unready nodes as not ready.
//
//	watch of nodes and Leases ──▶ Step ──▶ MarkUnknown  ──▶ node status, if the Lease was not renewed meanwhile
//	             its own clock ──┘    └──▶ UpdateTaints ──▶ spec.taints, if the node is unchanged
//	watch of nodes and pods   ──▶ pod condition Ready=False, immediately
//
// Taints of other owners stay unchanged. engine/tainteviction decides which pods the taints evict.
//
// Difference from Kubernetes: the controller reads the Lease from the API server before it marks a node, so that a
// lagging watch has no effect.
package nodelifecycle
