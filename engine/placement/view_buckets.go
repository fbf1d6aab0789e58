package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
)

// bucket is the nodes of one vector that are not out by themselves.
type bucket struct {
	of    vector
	count int32

	// A scan keeps the best node: the most points of its own, and among equals
	// the next on the circle of keys.
	best   cluster.NodeID
	points int32
	away   int32 // how many ranks it is from the pod's point on the circle

	// A view keeps all nodes: a set of ranks for each number of points, from low on.
	low  int32
	sets []*rankSet
	mask []uint64 // which numbers of points have nodes

	// What a walk finds out.
	verdict verdict
	aside   bool // takes no part in soft spreading
	drawn   int64
	spread  int64
}

// offer counts a node, and keeps it if it is the best so far.
func (b *bucket) offer(id cluster.NodeID, points, away int32) {
	b.count++
	if b.count == 1 || points > b.points || points == b.points && away < b.away {
		b.best, b.points, b.away = id, points, away
	}
}

// set returns the set of a number of points, which the sets reach.
func (b *bucket) set(points int32) *rankSet { return b.sets[points-b.low] }

// reach makes room for a number of points.
func (b *bucket) reach(points int32) *rankSet {
	if len(b.sets) == 0 {
		b.low = points
	}
	if more := b.low - points; more > 0 {
		b.sets = append(make([]*rankSet, more, int(more)+len(b.sets)), b.sets...)
		b.low = points
	}
	for int(points-b.low) >= len(b.sets) {
		b.sets = append(b.sets, nil)
	}
	s := b.sets[points-b.low]
	if s == nil {
		s = &rankSet{}
		b.sets[points-b.low] = s
	}
	return s
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
	index   bucketIndex
	buckets []bucket
	fails   []failCount
	stored  []filter         // volume rules
	storing *attempt         // whose volume rules they are
	refused decision.Summary // by them
	one     bucket
	walked  []*bucket
	lifted  []cluster.NodeID // judged by themselves beside a base's view
	seats   []seat           // of the lifted in it
	start   int32            // the rank at point; -1: not known yet
	pod     *model.Pod       // that is decided about
	avoided []cluster.NodeID // it is held off these
	apart   []cluster.NodeID // are judged for it alone, the avoided ones among them
	first   []cluster.NodeID // are tried before all others
	noted   []cluster.NodeID // are marked, in a scan
	marks   []uint8          // by NodeID
	opened  [][]uint64       // by soft constraint and domain: the clock when it was seen
	point   uint64           // of the pod, on the circle
	worth   []int64          // of the shape's images
	imaged  bool             // some node has one of them
	sizes   []float64        // of the soft constraints' domains, as weights
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
