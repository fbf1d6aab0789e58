package fastpath

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
)

// prepare stores the start of the tie-breaking order and the image scores of a pod in scratch.
func (e *Engine) prepare(ec *equivalenceClass, pod *model.Pod) {
	sc := &e.scratch
	sc.tieStart, sc.startRank = placement.NewTieBreaker(e.seed, pod.TieKey()).Start(), -1
	sc.imageScores, sc.anyImage = sc.imageScores[:0], false
	nodes := float64(e.state.NumNodes())
	for _, name := range ec.images {
		imageNodes, size := e.state.ImageSpread(name)
		sc.anyImage = sc.anyImage || imageNodes > 0
		sc.imageScores = append(sc.imageScores, int64(float64(float64(size)*(float64(imageNodes)/nodes))))
	}
}

// scan filters all nodes and returns buckets with the number of nodes and the best node.
// It fills scratch.failures. If possible, it scans the parts of a partition. Then only
// exceptions and nodes to evaluate for the pod alone are scanned individually.
func (e *Engine) scan(ec *equivalenceClass) []*nodeBucket {
	sc := &e.scratch
	sc.index.clear()
	sc.buckets, sc.failures, sc.collected = sc.buckets[:0], sc.failures[:0], sc.collected[:0]
	e.index.UpdateRanks()
	e.markPodNodes()
	if ec.hasPartition && e.collectExceptions(ec, math.MaxInt) {
		e.scanPartition(ec)
	} else {
		for i := range e.index.Rows {
			if e.index.Rows[i].Exists {
				e.scanNode(ec, cluster.NodeID(i))
			}
		}
	}
	e.unmark()
	sc.appendScratchBuckets()
	return sc.collected
}

// scanPartition scans the parts of the class's partition, and the marked nodes
// individually.
func (e *Engine) scanPartition(ec *equivalenceClass) {
	sc, p := &e.scratch, e.partitionOf(&ec.partition)
	e.markExceptions()
	for i, nodes := range p.nodes {
		if len(nodes) == 0 {
			continue
		}
		if static := p.parts[i].key[slotStatic]; static < 0 {
			sc.failures = addFailure(sc.failures, failure(static), len(nodes))
			continue
		}
		if count, best := e.scanPart(ec, nodes); count > 0 {
			b := nodeBucket{key: p.parts[i].key}
			ec.setDefaults(&b)
			k := sc.bucketOf(&b.key, ec.usedSlots)
			sc.buckets[k].count, sc.buckets[k].best = count, best.node
			sc.buckets[k].bestScore, sc.buckets[k].distance = best.score, best.distance
		}
	}
	for _, id := range sc.marked {
		if !e.index.Rows[id].Exists {
			continue
		}
		if static := p.static(id); static < 0 { // already counted
			sc.failures = addFailure(sc.failures, failure(static), -1)
		}
		e.scanNode(ec, id)
	}
}

// partBest is the best node of a part.
type partBest struct {
	node            cluster.NodeID
	score, distance int32
}

// scanPart counts the nodes of a part that fit and finds the best one. Score and distance
// are compared as one number. Skipping the balance score of nodes that cannot be the best
// is slower, because the branch is unpredictable.
func (e *Engine) scanPart(ec *equivalenceClass, nodes []cluster.NodeID) (count int32, best partBest) {
	sc, x := &e.scratch, e.index
	rows := x.Rows
	ranks, byRank, _ := x.Ranks()
	start, size := e.startRank(), int32(len(byRank))
	marked, filtersVolumes := len(sc.marked) > 0, len(sc.volumeFilters) > 0
	bestKey := int64(math.MinInt64)
	for _, id := range nodes {
		if marked && sc.marks[id] != 0 {
			continue
		}
		r := &rows[id]
		if !ec.passesQuickFit(r) {
			if f := ec.filter(x, id); f != 0 {
				sc.failures = addFailure(sc.failures, f, 1)
				continue
			}
		}
		if filtersVolumes && !e.filterVolumes(id) {
			continue
		}
		count++
		distance := ranks[id] - start
		distance += size & (distance >> 31)
		bestKey = max(bestKey, int64(ec.nodeScore(x, id))<<32-int64(distance))
	}
	if count > 0 {
		best.score = int32((bestKey + math.MaxUint32) >> 32)
		best.distance = int32(int64(best.score)<<32 - bestKey)
		best.node = x.NodeAtRank((start + best.distance) % size)
	}
	return count, best
}

func (e *Engine) scanNode(ec *equivalenceClass, id cluster.NodeID) {
	sc, x := &e.scratch, e.index
	if isPodNode := sc.marks[id] == markPodNode; isPodNode || ec.static.Values[id] < 0 || !ec.passesQuickFit(&x.Rows[id]) {
		if f := e.filterInScan(ec, id, isPodNode); f != 0 {
			sc.failures = addFailure(sc.failures, f, 1)
			return
		}
	}
	if len(sc.volumeFilters) > 0 && !e.filterVolumes(id) {
		return
	}
	var key bucketKey
	ec.readKey(id, &key)
	ranks, _, _ := x.Ranks()
	sc.buckets[sc.bucketOf(&key, ec.usedSlots)].offer(id, ec.nodeScore(x, id), e.distance(ranks[id]))
}

// bucketOf returns the index of the bucket of a key, creating it if necessary.
func (sc *scratch) bucketOf(key *bucketKey, slots []uint8) int32 {
	b := sc.index.find(sc.buckets, key, slots)
	if b < 0 {
		b = int32(len(sc.buckets))
		sc.buckets = append(sc.buckets, nodeBucket{key: *key})
		sc.index.add(sc.buckets, slots)
	}
	return b
}

// Marks of nodes that a scan visits individually.
const (
	markException = 1 + iota // exception node
	markPodNode              // evaluated for the pod alone, or with nominated pods
)

// markPodNodes marks the nodes for which filter is not sufficient.
func (e *Engine) markPodNodes() {
	sc := &e.scratch
	if len(sc.marks) < len(e.index.Rows) {
		sc.marks = make([]uint8, len(e.index.Rows))
	}
	sc.marked = append(sc.marked[:0], sc.podNodes...)
	sc.marked = e.state.AppendNominatedNodes(sc.marked)
	sc.mark(0, markPodNode)
}

func (e *Engine) markExceptions() {
	sc := &e.scratch
	from := len(sc.marked)
	sc.marked = append(sc.marked, sc.exceptions...)
	sc.mark(from, markException)
}

// mark marks the collected nodes from an index on and drops duplicates.
func (sc *scratch) mark(from int, mark uint8) {
	unique := sc.marked[:from]
	for _, id := range sc.marked[from:] {
		if sc.marks[id] == 0 {
			sc.marks[id] = mark
			unique = append(unique, id)
		}
	}
	sc.marked = unique
}

func (e *Engine) unmark() {
	sc := &e.scratch
	for _, id := range sc.marked {
		sc.marks[id] = 0
	}
}
