package placement

import "github.com/berthproject/berth/engine/cluster"

// bucket is the nodes of one vector that are not out by themselves.
type bucket struct {
	of    vector
	count int32

	// A scan keeps the best node: the most points of its own, and among equals
	// the next on the circle of keys.
	best   cluster.NodeID
	points int32
	ahead  uint64 // from the pod's point on the circle to the node

	// A view keeps all nodes: a set of ranks for each number of points.
	sets []*rankSet
	mask []uint64 // which numbers of points have nodes

	// What a walk finds out.
	verdict verdict
	aside   bool // takes no part in soft spreading
	drawn   int64
	spread  int64
}

// verdict is why all nodes of a bucket are out.
type verdict uint8

const (
	fits verdict = iota
	outSpreadLabel
	outSpread
	outAffinity
	outAnti
	outAgainst
	numVerdicts
)

// scratch is room that decisions use again and again.
type scratch struct {
	byVector map[vector]int32
	buckets  []bucket
	fails    []failCount
	opened   [][]uint64 // by soft constraint and domain: the clock when it was seen
	point    uint64     // of the pod, on the circle
	worth    []int64    // of the shape's images
	sizes    []float64  // of the soft constraints' domains, as weights
}

// failCount is how many nodes are out for a reason of their own.
type failCount struct {
	fail  fail
	nodes int
}

func countFail(list []failCount, f fail, n int) []failCount {
	for i := range list {
		if list[i].fail == f {
			list[i].nodes += n
			return list
		}
	}
	return append(list, failCount{f, n})
}
