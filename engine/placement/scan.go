package placement

import (
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
// of them. It fills scratch.fails. (To skip the balance of nodes that could not be
// the best was tried: branches that cannot be foretold cost more than the division.)
func (e *Engine) scan(sh *shape) []*bucket {
	sc, x := &e.scratch, e.index
	sc.index.clear()
	sc.buckets, sc.fails = sc.buckets[:0], sc.fails[:0]
	rows, static := x.Rows, sh.static.Values
	var v, last vector
	ranks, _, _ := x.Ranks()
	at, varied := int32(-1), sh.varied || sc.imaged
	e.markCrowded()
	defer e.unmark()
	crowded := len(sc.crowded) > 0
	for i := range rows {
		id, r := cluster.NodeID(i), &rows[i]
		if !r.Live {
			continue
		}
		if beside := crowded && sc.marked[i]; beside || static[i] < 0 || !sh.roomy(r) {
			if f := e.judgeIn(sh, id, beside); f != 0 {
				sc.fails = countFail(sc.fails, f, 1)
				continue
			}
		}
		if len(sc.stored) > 0 && !e.judgeStored(id) {
			continue
		}
		if at < 0 || varied || static[i] != last[slotStatic] { // or else it is the bucket of the last
			sh.read(id, &v)
			if at < 0 || !v.same(&last, sh.reads) {
				at, last = sc.bucketOf(&v, sh.reads), v
			}
		}
		sc.buckets[at].offer(id, sh.points(x, id), e.away(ranks[i]))
	}
	sc.walked = sc.walked[:0]
	sc.addWalked()
	return sc.walked
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
