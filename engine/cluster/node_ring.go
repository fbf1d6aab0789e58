package cluster

import (
	"cmp"
	"math/bits"
	"slices"
)

// nodeRing orders nodes by NameHash. The scheduler picks among nodes of equal score by position
// in the ring. Deleted nodes leave gaps; ranks are renumbered when a node is added.
type nodeRing struct {
	ranks   []int32  // by NodeID; -1: no rank yet
	byRank  []NodeID // -1: gap
	keys    []uint64 // NameHash by rank, also of gaps
	pending []NodeID // added nodes without a rank
	version uint64   // incremented when ranks are renumbered
}

func (ring *nodeRing) add(id NodeID) {
	for len(ring.ranks) <= int(id) {
		ring.ranks = append(ring.ranks, -1)
	}
	ring.ranks[id] = -1
	ring.pending = append(ring.pending, id)
}

func (ring *nodeRing) remove(id NodeID) {
	if r := ring.ranks[id]; r >= 0 {
		ring.byRank[r] = -1
	}
	if i := slices.Index(ring.pending, id); i >= 0 {
		ring.pending = slices.Delete(ring.pending, i, i+1)
	}
}

// Ranks returns the ranks of nodes, indexed by NodeID, in the order of (NameHash, name). It also returns the inverse,
// indexed by rank, whose entries become -1 when nodes are deleted. Both are valid until a later call returns another
// version.
func (x *Index) Ranks() (ranks []int32, byRank []NodeID, version uint64) {
	x.UpdateRanks()
	return x.nodeRing.ranks, x.nodeRing.byRank, x.nodeRing.version
}

// UpdateRanks ranks the nodes that were added since the last call.
func (x *Index) UpdateRanks() {
	ring := &x.nodeRing
	if len(ring.pending) == 0 {
		return
	}
	compare := func(a, b NodeID) int {
		na, nb := x.state.nodes[a], x.state.nodes[b]
		return cmp.Or(cmp.Compare(na.NameHash, nb.NameHash), cmp.Compare(na.Model.Name, nb.Model.Name))
	}
	byRank := slices.DeleteFunc(ring.byRank, func(id NodeID) bool { return id < 0 })
	if len(ring.pending) <= 8 {
		for _, id := range ring.pending {
			i, _ := slices.BinarySearchFunc(byRank, id, compare)
			byRank = slices.Insert(byRank, i, id)
		}
	} else {
		byRank = append(byRank, ring.pending...)
		slices.SortFunc(byRank, compare)
	}
	ring.keys = ring.keys[:0]
	for r, id := range byRank {
		ring.ranks[id] = int32(r)
		ring.keys = append(ring.keys, x.state.nodes[id].NameHash)
	}
	ring.byRank, ring.pending = byRank, nil
	ring.version++
}

// NodeAtRank returns the node at a rank, -1 for a gap. The ranks must be up to date; see UpdateRanks.
func (x *Index) NodeAtRank(r int32) NodeID { return x.nodeRing.byRank[r] }

// RankAtOrAfter returns the first rank whose hash is at or after point, or the number of
// ranks. As hashes are uniform, it searches from an estimate. The ranks must be up to date; see
// UpdateRanks.
func (x *Index) RankAtOrAfter(point uint64) int32 {
	keys := x.nodeRing.keys
	hi, _ := bits.Mul64(point, uint64(len(keys)))
	r := int(hi)
	for r < len(keys) && keys[r] < point {
		r++
	}
	for r > 0 && keys[r-1] >= point {
		r--
	}
	return int32(r)
}

// NumRanks returns the number of ranks, including gaps.
func (x *Index) NumRanks() int32 { return int32(len(x.nodeRing.byRank)) }
