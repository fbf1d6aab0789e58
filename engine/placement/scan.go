package placement

import (
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/model"
)

// enter makes ready what a decision about a pod needs besides its shape.
func (e *Engine) enter(sh *shape, pod *model.Pod) {
	sc := &e.scratch
	sc.point = tiePoint(e.seed, pod.UID)
	sc.worth = sc.worth[:0]
	nodes := float64(e.state.NumNodes())
	for _, name := range sh.images {
		have, size := e.state.ImageSpread(name)
		sc.worth = append(sc.worth, int64(float64(float64(size)*(float64(have)/nodes))))
	}
}

// scan judges every node and keeps, by bucket, how many there are and the best
// of them. It fills scratch.fails.
func (e *Engine) scan(sh *shape) []bucket {
	sc, x := &e.scratch, e.index
	if sc.byVector == nil {
		sc.byVector = map[vector]int32{}
	}
	clear(sc.byVector)
	buckets, fails := sc.buckets[:0], sc.fails[:0]
	var v, last vector
	at := int32(-1) // the bucket of last; neighbours are often alike
	for i := range x.Rows {
		id := cluster.NodeID(i)
		if !x.Rows[i].Live {
			continue
		}
		if f := sh.judge(x, id); f != 0 {
			fails = countFail(fails, f, 1)
			continue
		}
		sh.read(id, &v)
		if at < 0 || !sh.same(&v, &last) {
			found, ok := sc.byVector[v]
			if !ok {
				found = int32(len(buckets))
				buckets = append(buckets, bucket{of: v})
				sc.byVector[v] = found
			}
			at, last = found, v
		}
		b := &buckets[at]
		points, ahead := sh.points(x, id), x.Keys[i]-sc.point
		if b.count == 0 || points > b.points || (points == b.points && e.before(id, ahead, b.best, b.ahead)) {
			b.best, b.points, b.ahead = id, points, ahead
		}
		b.count++
	}
	sc.buckets, sc.fails = buckets, fails
	return buckets
}

// before says whether a node comes before another on the circle, given how far
// ahead of the pod's point they are.
func (e *Engine) before(a cluster.NodeID, aheadA uint64, b cluster.NodeID, aheadB uint64) bool {
	if aheadA != aheadB {
		return aheadA < aheadB
	}
	return e.state.Node(a).Model.Name < e.state.Node(b).Model.Name
}

// same compares the slots that the shape uses.
func (sh *shape) same(a, b *vector) bool {
	for i := range a[:sh.slots] {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
