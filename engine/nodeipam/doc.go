// Package nodeipam allocates the podCIDRs of nodes from the cluster's CIDR.
//
//	Claim(node, range)         the node's spec has the range
//	Allocate(node, inUse)      a free range for a node without one
//	Release(node)              the node is deleted
//
// Ranges have equal size and are allocated in ascending order. A released range is used again as late as possible. A
// node of the same name gets its earlier range again if that is free, so that its pods do not need new addresses.
//
// Invariants, each with a test:
//
//   - Disjoint: no allocated range overlaps a range that another node claimed, whatever its size.
//   - NotInUse: a range in which pods of other nodes have addresses, as inUse reports, is not allocated.
//   - Exhaustive: Allocate fails only if no range is free.
package nodeipam
