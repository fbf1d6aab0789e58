// Package nodeipam gives each node a range of pod addresses: spec.podCIDR and spec.podCIDRs, from the cluster's CIDR. It
// corresponds to the node-ipam-controller of kube-controller-manager with its RangeAllocator.
//
// engine/nodeipam decides which range a node gets. The controller knows all ranges in use before it allocates the first
// one, because it waits for the cache of nodes and pods. A range is in use while a Node has it, and while a pod of
// another, perhaps deleted node that has not ended has an address in it. Ranges that Nodes were created with are kept.
//
// A node for which no range is free has the event CIDRNotAvailable, and is tried again. Two nodes with overlapping
// ranges, which manifests or the agents' --pod-cidr may have, have the event CIDROverlap, which upstream does not have.
package nodeipam
