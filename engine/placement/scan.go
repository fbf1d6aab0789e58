package placement

import (
	"math"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// enter makes ready what a decision about a pod needs besides its shape.
func (e *Engine) enter(sh *shape, pod *model.Pod) {
	sc := &e.scratch
	sc.point, sc.start = tiePoint(e.seed, pod.TieKey()), -1
	sc.worth, sc.imaged = sc.worth[:0], false
	nodes := float64(e.state.NumNodes())
	for _, name := range sh.images {
		have, size := e.state.ImageSpread(name)
		sc.imaged = sc.imaged || have > 0
		sc.worth = append(sc.worth, int64(float64(float64(size)*(float64(have)/nodes))))
	}
}

// scan judges every node and keeps, by bucket, how many there are and the best
// of them. It fills scratch.fails. Nodes go by the parts of a partition, but for those that
// the shape sees otherwise than its base, or that are to be judged for the pod alone.
func (e *Engine) scan(sh *shape) []*bucket {
	sc := &e.scratch
	sc.index.clear()
	sc.buckets, sc.fails, sc.walked = sc.buckets[:0], sc.fails[:0], sc.walked[:0]
	e.index.Ranks()
	e.markCrowded()
	if sh.sited && e.noteLifted(sh, math.MaxInt) {
		e.scanParts(sh)
	} else {
		for i := range e.index.Rows {
			if e.index.Rows[i].Live {
				e.scanOne(sh, cluster.NodeID(i))
			}
		}
	}
	e.unmark()
	sc.addWalked()
	return sc.walked
}

// scanParts scans the parts of the shape's partition, and the marked nodes one by one.
func (e *Engine) scanParts(sh *shape) {
	sc, p := &e.scratch, e.partitionOf(&sh.site)
	e.markLifted()
	for i, nodes := range p.nodes {
		if len(nodes) == 0 {
			continue
		}
		if static := p.parts[i].of[slotStatic]; static < 0 {
			sc.fails = countFail(sc.fails, fail(static), len(nodes))
			continue
		}
		if count, best := e.scanPart(sh, nodes); count > 0 {
			of := p.parts[i].of
			b := bucket{of: of}
			sh.blank(&b)
			at := sc.bucketOf(&b.of, sh.reads)
			sc.buckets[at].count, sc.buckets[at].best = count, best.node
			sc.buckets[at].points, sc.buckets[at].away = best.points, best.away
		}
	}
	for _, id := range sc.noted {
		if !e.index.Rows[id].Live {
			continue
		}
		if static := p.static(id); static < 0 { // is counted
			sc.fails = countFail(sc.fails, fail(static), -1)
		}
		e.scanOne(sh, id)
	}
}

// candidate is a node with its own points, so many ranks from the pod's point.
type candidate struct {
	node         cluster.NodeID
	points, away int32
}

// scanPart counts the nodes of a part that are not out, and finds the best: that of the most
// points, of equals the next on the circle. Points and distance are compared as
// one number. (To skip the balance of nodes that could not be
// the best was tried: branches that cannot be foretold cost more than the division.)
func (e *Engine) scanPart(sh *shape, nodes []cluster.NodeID) (count int32, best candidate) {
	sc, x := &e.scratch, e.index
	rows := x.Rows
	ranks, byRank, _ := x.Ranks()
	start, size := e.start(), int32(len(byRank))
	marked, stored := len(sc.noted) > 0, len(sc.stored) > 0
	most := int64(math.MinInt64)
	for _, id := range nodes {
		if marked && sc.marks[id] != 0 {
			continue
		}
		r := &rows[id]
		if !sh.roomy(r) {
			if f := sh.judge(x, id); f != 0 {
				sc.fails = countFail(sc.fails, f, 1)
				continue
			}
		}
		if stored && !e.judgeStored(id) {
			continue
		}
		count++
		away := ranks[id] - start
		away += size & (away >> 31)
		most = max(most, int64(sh.points(x, id))<<32-int64(away))
	}
	if count > 0 {
		best.points = int32((most + math.MaxUint32) >> 32)
		best.away = int32(int64(best.points)<<32 - most)
		best.node = x.AtRank((start + best.away) % size)
	}
	return count, best
}

// scanOne scans a node by itself.
func (e *Engine) scanOne(sh *shape, id cluster.NodeID) {
	sc, x := &e.scratch, e.index
	if beside := sc.marks[id] == markedCrowded; beside || sh.static.Values[id] < 0 || !sh.roomy(&x.Rows[id]) {
		if f := e.judgeIn(sh, id, beside); f != 0 {
			sc.fails = countFail(sc.fails, f, 1)
			return
		}
	}
	if len(sc.stored) > 0 && !e.judgeStored(id) {
		return
	}
	var v vector
	sh.read(id, &v)
	ranks, _, _ := x.Ranks()
	sc.buckets[sc.bucketOf(&v, sh.reads)].offer(id, sh.points(x, id), e.away(ranks[id]))
}

// bucketOf finds or makes the bucket of a vector.
func (sc *scratch) bucketOf(v *vector, slots []uint8) int32 {
	b := sc.index.find(sc.buckets, v, slots)
	if b < 0 {
		b = int32(len(sc.buckets))
		sc.buckets = append(sc.buckets, bucket{of: *v})
		sc.index.add(sc.buckets, slots)
	}
	return b
}

// A scan marks the nodes that it looks at one by one.
const (
	markedLifted  = 1 + iota // the shape sees them otherwise than its base
	markedCrowded            // are to be judged for the pod alone, or beside nominated pods
)

// markCrowded marks the nodes for which judge alone does not do.
func (e *Engine) markCrowded() {
	sc := &e.scratch
	if len(sc.marks) < len(e.index.Rows) {
		sc.marks = make([]uint8, len(e.index.Rows))
	}
	sc.noted = append(sc.noted[:0], sc.apart...)
	sc.noted = e.state.AppendNominatedNodes(sc.noted)
	sc.mark(0, markedCrowded)
}

// markLifted marks the lifted nodes.
func (e *Engine) markLifted() {
	sc := &e.scratch
	from := len(sc.noted)
	sc.noted = append(sc.noted, sc.lifted...)
	sc.mark(from, markedLifted)
}

// mark marks the noted nodes from an index on, and drops those that were marked before.
func (sc *scratch) mark(from int, as uint8) {
	kept := sc.noted[:from]
	for _, id := range sc.noted[from:] {
		if sc.marks[id] == 0 {
			sc.marks[id] = as
			kept = append(kept, id)
		}
	}
	sc.noted = kept
}

// unmark unmarks all.
func (e *Engine) unmark() {
	sc := &e.scratch
	for _, id := range sc.noted {
		sc.marks[id] = 0
	}
}
