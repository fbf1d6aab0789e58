package preemption

import "github.com/berthproject/berth/engine/cluster"

// tree is a winner tree over the nodes in tie-breaker order. Every vertex holds the node with the lowest cost
// below it, or the first of them if several tie.
type tree struct {
	size    int // number of leaves, a power of two
	winners []cluster.NodeID
}

// noNode marks a vertex without a candidate node.
const noNode cluster.NodeID = -1

// build builds the tree from nodes by rank; -1 is an empty rank.
func (t *tree) build(byRank []cluster.NodeID, results []result) {
	t.size = 1
	for t.size < len(byRank) {
		t.size *= 2
	}
	if cap(t.winners) < 2*t.size {
		t.winners = make([]cluster.NodeID, 2*t.size)
	}
	t.winners = t.winners[:2*t.size]
	for r := range t.size {
		t.winners[t.size+r] = noNode
		if r < len(byRank) && byRank[r] >= 0 && results[byRank[r]].kind == fitsAfterEviction {
			t.winners[t.size+r] = byRank[r]
		}
	}
	for i := t.size - 1; i > 0; i-- {
		t.winners[i] = better(t.winners[2*i], t.winners[2*i+1], results)
	}
}

// set adds a node at its rank, or removes it if preemption does not help there.
func (t *tree) set(rank int32, id cluster.NodeID, results []result) {
	i := t.size + int(rank)
	t.winners[i] = noNode
	if results[id].kind == fitsAfterEviction {
		t.winners[i] = id
	}
	for i /= 2; i > 0; i /= 2 {
		t.winners[i] = better(t.winners[2*i], t.winners[2*i+1], results)
	}
}

// better returns the node with the lower cost, or a if the costs are equal.
func better(a, b cluster.NodeID, results []result) cluster.NodeID {
	switch {
	case a == noNode:
		return b
	case b == noNode:
		return a
	case results[b].cost.compare(&results[a].cost) < 0:
		return b
	}
	return a
}

// best appends nodes with the lowest cost to dst until it has limit nodes. It visits them in rank order,
// starts at rank from, and wraps around.
func (t *tree) best(dst []cluster.NodeID, from int32, limit int, results []result) []cluster.NodeID {
	if t.winners[1] == noNode {
		return dst
	}
	lowest := results[t.winners[1]].cost
	dst = t.walk(dst, 1, 0, t.size, int(from), t.size, limit, &lowest, results)
	return t.walk(dst, 1, 0, t.size, 0, int(from), limit, &lowest, results)
}

// walk appends nodes with the lowest cost to dst until it has limit nodes. It visits the subtree at i, whose
// leaves are the ranks [lo, hi), and only the ranks in [from, end).
func (t *tree) walk(dst []cluster.NodeID, i, lo, hi, from, end, limit int, lowest *cost, results []result) []cluster.NodeID {
	winner := t.winners[i]
	if len(dst) >= limit || hi <= from || lo >= end || winner == noNode || results[winner].cost != *lowest {
		return dst
	}
	if hi-lo == 1 {
		return append(dst, winner)
	}
	mid := (lo + hi) / 2
	dst = t.walk(dst, 2*i, lo, mid, from, end, limit, lowest, results)
	return t.walk(dst, 2*i+1, mid, hi, from, end, limit, lowest, results)
}
