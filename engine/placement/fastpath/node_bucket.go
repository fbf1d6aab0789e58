package fastpath

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement/framework"
)

// nodeBucket holds the nodes with one key that have no failure.
type nodeBucket struct {
	key   bucketKey
	count int32

	// A scan keeps the best node: the highest score, and among equals the first on the node
	// ring.
	best      cluster.NodeID
	bestScore int32
	distance  int32 // ranks from the pod's start on the node ring

	// A score cache keeps all nodes: a set of ranks for each score, from minScore.
	minScore  int32
	ranks     []*rankSet
	scoreMask []uint64 // scores that have nodes

	// Results of evaluateBuckets.
	verdict         bucketVerdict
	ignoredInSpread bool // excluded from soft spreading
	affinityScore   int64
	spreadScore     int64
}

// offer counts a node and keeps it if it is the best so far.
func (b *nodeBucket) offer(id cluster.NodeID, score, distance int32) {
	b.count++
	if b.count == 1 || score > b.bestScore || score == b.bestScore && distance < b.distance {
		b.best, b.bestScore, b.distance = id, score, distance
	}
}

// rankSetAt returns the ranks with a score, which must be in the bucket's range of scores.
func (b *nodeBucket) rankSetAt(score int32) *rankSet { return b.ranks[score-b.minScore] }

// growTo extends the range of scores to a score and returns the ranks with that score.
func (b *nodeBucket) growTo(score int32) *rankSet {
	if len(b.ranks) == 0 {
		b.minScore = score
	}
	if missing := b.minScore - score; missing > 0 {
		b.ranks = append(make([]*rankSet, missing, int(missing)+len(b.ranks)), b.ranks...)
		b.minScore = score
	}
	for int(score-b.minScore) >= len(b.ranks) {
		b.ranks = append(b.ranks, nil)
	}
	s := b.ranks[score-b.minScore]
	if s == nil {
		s = &rankSet{}
		b.ranks[score-b.minScore] = s
	}
	return s
}

// bucketVerdict is why all nodes of a bucket are rejected, or bucketFits.
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

// scratch is memory reused by decisions.
type scratch struct {
	index            bucketIndex
	buckets          []nodeBucket
	failures         []failureCount
	volumeFilters    []framework.FilterPlugin // of the volume plugins
	volumeEvaluation *framework.Evaluation    // evaluation of volumeFilters
	volumeRejections decision.Summary         // by volumeFilters
	single           nodeBucket               // of decideFirstNodes
	collected        []*nodeBucket
	exceptions       []cluster.NodeID // evaluated individually with the cache of the base class
	savedRefs        []bucketRef      // of the exceptions
	startRank        int32            // -1: not computed yet
	pod              *model.Pod       // pod of the current decision
	avoidNodes       []cluster.NodeID // nodes with an Avoid Hold for the pod
	podNodes         []cluster.NodeID // nodes evaluated for the pod alone, including avoidNodes
	firstNodes       []cluster.NodeID // nodes tried before all others
	marked           []cluster.NodeID // nodes marked in a scan
	marks            []uint8          // by NodeID
	domainsSeen      [][]uint64       // clock of the last use, by soft constraint and domain
	tieStart         uint64           // TieBreaker.Start of the pod
	imageScores      []int64          // one for each image of the pod
	anyImage         bool             // some node has one of the images
	topologyWeights  []float64        // weights by soft constraint
}

// failureCount is the number of nodes with a failure.
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
