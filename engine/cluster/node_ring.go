package cluster

import (
	"cmp"
	"math/bits"
	"slices"
)

// nodeRing is the circle of nodes by key, in which ties are broken. Ranks have
// holes where nodes went, which keep theirs; they are given anew when a node comes.
type nodeRing struct {
	ranks   []int32  // by NodeID
	byRank  []NodeID // -1: a hole
	keys    []uint64 // by rank, kept in holes
	pending []NodeID // added, without rank yet
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

// Ranks are the places of the nodes in the order of (key, name): by NodeID, and
// the nodes by rank, -1 where there is none. They hold while the version stays.
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

// NodeAtRank is the node of a rank, -1 where there is none. Ranks must have been
// called since a node came.
func (x *Index) NodeAtRank(r int32) NodeID { return x.nodeRing.byRank[r] }

// RankAtOrAfter is the first rank whose key is not before a point on the circle; the
// number of ranks when there is none. Keys being hashes, the place is guessed from the
// point and sought from there.
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

// NumRanks is how many ranks there are, holes included.
func (x *Index) NumRanks() int32 { return int32(len(x.nodeRing.byRank)) }
