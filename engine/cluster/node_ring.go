package cluster

import (
	"cmp"
	"math/bits"
	"slices"
)

// nodeRing is the ring of nodes by NameHash, which breaks ties. Deleted nodes leave gaps;
// ranks are renumbered when a node is added.
type nodeRing struct {
	ranks   []int32  // by NodeID
	byRank  []NodeID // -1: gap
	keys    []uint64 // by rank, also of gaps
	pending []NodeID // added nodes without a rank
	version uint64
}

func (o *nodeRing) added(id NodeID) {
	for len(o.ranks) <= int(id) {
		o.ranks = append(o.ranks, -1)
	}
	o.ranks[id] = -1
	o.pending = append(o.pending, id)
}

func (o *nodeRing) removed(id NodeID) {
	if r := o.ranks[id]; r >= 0 {
		o.byRank[r] = -1
	}
	if i := slices.Index(o.pending, id); i >= 0 {
		o.pending = slices.Delete(o.pending, i, i+1)
	}
}

// Ranks returns the ranks of nodes in the order of (NameHash, name) by NodeID, and the
// nodes by rank, -1 for gaps. They are valid while the version is unchanged.
func (x *Index) Ranks() (ranks []int32, byRank []NodeID, version uint64) {
	o := &x.nodeRing
	if len(o.pending) == 0 {
		return o.ranks, o.byRank, o.version
	}
	compare := func(a, b NodeID) int {
		na, nb := x.state.nodes[a], x.state.nodes[b]
		return cmp.Or(cmp.Compare(na.NameHash, nb.NameHash), cmp.Compare(na.Model.Name, nb.Model.Name))
	}
	byRank = slices.DeleteFunc(o.byRank, func(id NodeID) bool { return id < 0 })
	if len(o.pending) <= 8 {
		for _, id := range o.pending {
			at, _ := slices.BinarySearchFunc(byRank, id, compare)
			byRank = slices.Insert(byRank, at, id)
		}
	} else {
		byRank = append(byRank, o.pending...)
		slices.SortFunc(byRank, compare)
	}
	o.keys = o.keys[:0]
	for r, id := range byRank {
		o.ranks[id] = int32(r)
		o.keys = append(o.keys, x.state.nodes[id].NameHash)
	}
	o.byRank, o.pending = byRank, nil
	o.version++
	return o.ranks, o.byRank, o.version
}

// NodeAtRank returns the node at a rank, -1 for a gap. Ranks must have been called since
// the last node was added.
func (x *Index) NodeAtRank(r int32) NodeID { return x.nodeRing.byRank[r] }

// RankAtOrAfter returns the first rank whose hash is at or after point, or the number of
// ranks. As hashes are uniform, it searches from an estimate.
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
