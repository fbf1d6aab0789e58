package placement

import (
	"math/bits"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
)

// view is all nodes as one shape sees them: out by themselves, or in a bucket
// of those with the same vector, there by their own points.
type view struct {
	owner   *shape
	pos     int64  // of the log, up to which it has looked
	order   uint64 // version of the ranks
	nodes   []seat // by NodeID
	buckets []bucket
	byOf    map[vector]int32
	empty   int // buckets without nodes
	fails   []failCount
	limit   int // a rankSet's
	size    int // ranks
	top     int // points
	bytes   int
	counted int // bytes, as the engine knows of them
}

// seat is where a view has a node.
type seat struct {
	fail   fail
	bucket int32 // -1: in none
	points int32
}

// viewFor returns the shape's view, up to date, or nil when a scan is cheaper:
// at first sight, and when too much has happened since the shape was asked for.
func (e *Engine) viewFor(sh *shape) *view {
	x := e.index
	end := x.LogEnd()
	since, seen := end-sh.at, sh.seen
	sh.at, sh.seen = end, true
	limit := int64(max(e.state.NumNodes()/e.tune.behind, e.tune.least))
	ranks, _, order := x.Ranks()
	if v := sh.view; v != nil {
		if v.order == order && end-v.pos <= limit {
			if _, ok := x.Log(v.pos); ok && (v.empty <= 64 || v.empty <= len(v.buckets)/2) {
				v.catchUp(x, ranks)
				e.account(v)
				return v
			}
		}
		e.drop(sh)
	}
	if !seen || since > limit {
		return nil
	}
	return e.build(sh)
}

// build makes a view of a shape.
func (e *Engine) build(sh *shape) *view {
	x := e.index
	ranks, byRank, order := x.Ranks()
	e.counters.Built++
	v := &view{owner: sh, pos: x.LogEnd(), order: order, nodes: make([]seat, len(x.Rows)), byOf: map[vector]int32{},
		limit: min(max(len(byRank)/e.tune.sets, e.tune.listed), 256), size: len(byRank), top: int(e.rules.top), bytes: 200 + 16*len(x.Rows)}
	for i := range x.Rows {
		v.nodes[i].bucket = -1
		if x.Rows[i].Live {
			v.place(x, cluster.NodeID(i), ranks)
		}
	}
	sh.view = v
	e.views = append(e.views, v)
	e.account(v)
	return v
}

// catchUp looks again at the nodes that have changed.
func (v *view) catchUp(x *cluster.Index, ranks []int32) {
	entries, _ := x.Log(v.pos)
	for i, id := range entries {
		if !x.IsLast(id, v.pos+int64(i)) {
			continue
		}
		for len(v.nodes) <= int(id) {
			v.nodes = append(v.nodes, seat{bucket: -1})
		}
		v.place(x, id, ranks)
	}
	v.pos = x.LogEnd()
}

// place puts a node where it belongs now.
func (v *view) place(x *cluster.Index, id cluster.NodeID, ranks []int32) {
	s := &v.nodes[id]
	if !x.Rows[id].Live {
		v.leave(s, ranks[id])
		s.fail = 0
		return
	}
	if f := v.owner.judge(x, id); f != 0 {
		if f != s.fail {
			v.leave(s, ranks[id])
			s.fail = f
			v.fails = countFail(v.fails, f, 1)
		}
		return
	}
	var of vector
	v.owner.read(id, &of)
	points := v.owner.points(x, id)
	if s.bucket >= 0 && v.owner.same(&v.buckets[s.bucket].of, &of) {
		if points == s.points {
			return
		}
		b := s.bucket
		v.leave(s, ranks[id])
		v.join(s, b, points, ranks[id])
		return
	}
	v.leave(s, ranks[id])
	v.join(s, v.bucketOf(&of), points, ranks[id])
}

// leave takes a node out of where it is.
func (v *view) leave(s *seat, rank int32) {
	if s.fail != 0 {
		v.fails = countFail(v.fails, s.fail, -1)
		s.fail = 0
	}
	if s.bucket < 0 {
		return
	}
	b := &v.buckets[s.bucket]
	set := b.sets[s.points]
	v.bytes -= set.bytes()
	set.del(rank, v.limit)
	v.bytes += set.bytes()
	if set.n == 0 {
		b.mask[s.points>>6] &^= 1 << (s.points & 63)
	}
	if b.count--; b.count == 0 {
		v.empty++
	}
	s.bucket = -1
}

// join puts a node into a bucket.
func (v *view) join(s *seat, bucket, points, rank int32) {
	b := &v.buckets[bucket]
	set := b.sets[points]
	if set == nil {
		set = &rankSet{}
		b.sets[points] = set
	} else {
		v.bytes -= set.bytes()
	}
	set.add(rank, v.limit, v.size)
	v.bytes += set.bytes()
	b.mask[points>>6] |= 1 << (points & 63)
	if b.count++; b.count == 1 {
		v.empty--
	}
	s.bucket, s.points = bucket, points
}

// bucketOf finds or makes the bucket of a vector.
func (v *view) bucketOf(of *vector) int32 {
	if b, ok := v.byOf[*of]; ok {
		return b
	}
	b := int32(len(v.buckets))
	v.buckets = append(v.buckets, bucket{of: *of, sets: make([]*rankSet, v.top+1), mask: make([]uint64, v.top/64+1)})
	v.byOf[*of] = b
	v.bytes += 400 + 9*v.top
	v.empty++
	return b
}

// most is the highest number of points that a node of the bucket has.
func (b *bucket) most() int32 {
	if b.mask == nil {
		return b.points
	}
	for i := len(b.mask) - 1; i >= 0; i-- {
		if b.mask[i] != 0 {
			return int32(i<<6 + 63 - bits.LeadingZeros64(b.mask[i]))
		}
	}
	return 0
}

// drop drops a shape's view.
func (e *Engine) drop(sh *shape) {
	v := sh.view
	if v == nil {
		return
	}
	sh.view = nil
	e.taken -= v.counted
	if i := slices.Index(e.views, v); i >= 0 {
		e.views = slices.Delete(e.views, i, i+1)
	}
}

// account keeps the views within their room: those not used for longest go.
func (e *Engine) account(v *view) {
	e.taken += v.bytes - v.counted
	v.counted = v.bytes
	for e.taken > e.room && len(e.views) > 1 {
		var oldest *view
		for _, o := range e.views {
			if o != v && (oldest == nil || o.owner.used < oldest.owner.used) {
				oldest = o
			}
		}
		e.drop(oldest.owner)
	}
}
