package placement

import "github.com/berthproject/berth/engine/cluster"

// tieStart is where a pod enters the circle of node keys: the node whose key
// comes next from there is taken among equals. It depends on seed and model.Pod.TieKey alone, so
// every way to a decision takes the same node.
func tieStart(seed uint64, key string) uint64 { return cluster.Hash64(seed, key) }

// precedes says whether a node comes before another from the point on.
func precedes(point, keyA uint64, nameA string, keyB uint64, nameB string) bool {
	if da, db := keyA-point, keyB-point; da != db {
		return da < db
	}
	return nameA < nameB
}
