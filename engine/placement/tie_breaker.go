package placement

import (
	"strings"

	"github.com/berthproject/berth/engine/cluster"
)

// TieBreaker orders nodes with equal scores. Placement and preemption use the same order.
type TieBreaker struct{ start uint64 }

// NewTieBreaker returns the order for a seed and the model.Pod.TieKey of a pod.
func NewTieBreaker(seed uint64, key string) TieBreaker { return TieBreaker{cluster.Hash64(seed, key)} }

// Start returns the hash at which the order begins: the node with the next higher name hash comes first.
func (t TieBreaker) Start() uint64 { return t.start }

// Compare returns a negative number if a comes before b, and a positive number if a comes after b. It returns 0 if they
// are the same node.
func (t TieBreaker) Compare(a, b *cluster.NodeInfo) int {
	switch {
	case a == b:
		return 0
	case precedes(t.start, a.NameHash, a.Model.Name, b.NameHash, b.Model.Name):
		return -1
	case precedes(t.start, b.NameHash, b.Model.Name, a.NameHash, a.Model.Name):
		return 1
	}
	return strings.Compare(a.Model.Name, b.Model.Name)
}

// precedes reports whether node a comes before node b in the ring of name hashes, which begins at start.
func precedes(start, hashA uint64, nameA string, hashB uint64, nameB string) bool {
	if da, db := hashA-start, hashB-start; da != db {
		return da < db
	}
	return nameA < nameB
}
