package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// nodeBucket is the nodes of one vector that are not out by themselves.
type nodeBucket struct {
	key   bucketKey
	count int32

	// A scan keeps the best node: the most points of its own, and among equals
	// the next on the circle of keys.
	best      cluster.NodeID
	bestScore int32
	distance  int32 // how many ranks it is from the pod's point on the circle

	// A view keeps all nodes: a set of ranks for each number of points, from low on.
	minScore  int32
	ranks     []*rankSet
	scoreMask []uint64 // which numbers of points have nodes

	// What a walk finds out.
	verdict         bucketVerdict
	ignoredInSpread bool // takes no part in soft spreading
	affinityScore   int64
	spreadScore     int64
}

// offer counts a node, and keeps it if it is the best so far.
func (b *nodeBucket) offer(id cluster.NodeID, points, away int32) {
	b.count++
	if b.count == 1 || points > b.bestScore || points == b.bestScore && away < b.distance {
		b.best, b.bestScore, b.distance = id, points, away
	}
}

// rankSetAt returns the set of a number of points, which the sets reach.
func (b *nodeBucket) rankSetAt(points int32) *rankSet { return b.ranks[points-b.minScore] }

// growTo makes room for a number of points.
func (b *nodeBucket) growTo(points int32) *rankSet {
	if len(b.ranks) == 0 {
		b.minScore = points
	}
	if more := b.minScore - points; more > 0 {
		b.ranks = append(make([]*rankSet, more, int(more)+len(b.ranks)), b.ranks...)
		b.minScore = points
	}
	for int(points-b.minScore) >= len(b.ranks) {
		b.ranks = append(b.ranks, nil)
	}
	s := b.ranks[points-b.minScore]
	if s == nil {
		s = &rankSet{}
		b.ranks[points-b.minScore] = s
	}
	return s
}

// bucketVerdict is why all nodes of a bucket are out.
type bucketVerdict uint8

const (
	bucketFits bucketVerdict = iota
	bucketSpreadLabel
	bucketSpread
	bucketAffinity
	bucketAntiAffinity
	bucketExistingAntiAffinity
	numBucketVerdicts
)

// scratch is room that decisions use again and again.
type scratch struct {
	index            bucketIndex
	buckets          []nodeBucket
	failures         []failureCount
	volumeFilters    []framework.FilterPlugin // volume rules
	volumeAttempt    *framework.Evaluation    // whose volume rules they are
	volumeRejections decision.Summary         // by them
	single           nodeBucket
	collected        []*nodeBucket
	exceptions       []cluster.NodeID // judged by themselves beside a base's view
	savedRefs        []bucketRef      // of the lifted in it
	startRank        int32            // the rank at point; -1: not known yet
	pod              *model.Pod       // that is decided about
	avoidNodes       []cluster.NodeID // it is held off these
	podNodes         []cluster.NodeID // are judged for it alone, the avoided ones among them
	firstNodes       []cluster.NodeID // are tried before all others
	marked           []cluster.NodeID // are marked, in a scan
	marks            []uint8          // by NodeID
	domainsSeen      [][]uint64       // by soft constraint and domain: the clock when it was seen
	tieStart         uint64           // of the pod, on the circle
	imageScores      []int64          // of the shape's images
	anyImage         bool             // some node has one of them
	topologyWeights  []float64        // of the soft constraints' domains, as weights
}

// failureCount is how many nodes are out for a reason of their own.
type failureCount struct {
	failure failure
	nodes   int
}

func addFailure(list []failureCount, f failure, n int) []failureCount {
	for i := range list {
		if list[i].failure == f {
			list[i].nodes += n
			return list
		}
	}
	return append(list, failureCount{f, n})
}
