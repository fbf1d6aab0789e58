// Package nodeipam gives each node a range of pod addresses: spec.podCIDR and spec.podCIDRs, from the cluster's CIDR. It
// corresponds to the node-ipam-controller of kube-controller-manager with its RangeAllocator.
//
// engine/nodeipam decides which range a node gets. The controller waits until the caches of nodes and pods are synced.
// It has then claimed all ranges in use before it allocates the first one. A range is in use while a Node has it. It is
// also in use while an unfinished pod of another node has an address in it, even if that node is deleted. A Node that
// is created with a range keeps it.
//
// If no range is free for a node, the controller records the event CIDRNotAvailable and retries. If two nodes have
// overlapping ranges, which manifests or the agents' --pod-cidr can cause, it records the event CIDROverlap. Upstream
// does not have that event.
package nodeipam
