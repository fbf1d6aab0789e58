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
	seats   []seat // by NodeID
	buckets []bucket
	index   bucketIndex
	empty   int // buckets without nodes
	fails   []failCount
	limit   int // a rankSet's
	size    int // ranks
	top     int // points
	bytes   int
	counted int // bytes, as the engine knows of them
}

// seat is where a view has a node: nowhere (0), out for the fail of an index
// (seatOut), or in a bucket, by its points.
type seat uint32

const (
	seatOut    seat = 1 << 31
	pointsBits      = 12
	maxBuckets      = 1 << 18
)

func sit(bucket, points int32) seat { return seat(bucket+1)<<pointsBits | seat(points) }

func (s seat) bucket() int32 { return int32(s>>pointsBits) - 1 }
func (s seat) points() int32 { return int32(s & (1<<pointsBits - 1)) }

// viewFor returns the shape's view, up to date, or nil when a scan is cheaper:
// at first sight, and when too much has happened since the shape was asked for.
func (e *Engine) viewFor(sh *shape) *view {
	x := e.index
	end := x.LogEnd()
	since, gap, seen := end-sh.at, e.clock-sh.last, sh.seen
	sh.at, sh.last, sh.seen = end, e.clock, true
	limit := e.bearable()
	ranks, _, order := x.Ranks()
	if v := sh.view; v != nil {
		if v.order == order && end-v.pos <= limit {
			if _, ok := x.Log(v.pos); ok && (v.empty <= 64 || v.empty <= len(v.buckets)/2) && len(v.buckets) < maxBuckets/2 {
				v.catchUp(x, ranks)
				e.account(v)
				return v
			}
		}
		e.drop(sh)
	}
	if !seen || since > limit || e.rules.top >= 1<<pointsBits || !e.worth(gap) {
		return nil
	}
	return e.build(sh)
}

// bearable is how many log entries a view may be behind for it to be cheaper than a scan.
func (e *Engine) bearable() int64 {
	return int64(max(e.state.NumNodes()*e.tune.behind/100, e.tune.least))
}

// worth says whether there is room for another view of a shape that was asked
// for gap decisions ago, or a view in its place that was not for twice as long.
// So shapes in rotation do not drive out each other's views before they are used again.
func (e *Engine) worth(gap uint64) bool {
	if len(e.views) == 0 || e.taken+e.taken/len(e.views) <= e.limit() {
		return true
	}
	return e.clock-e.oldest(nil).owner.used > 2*gap
}

// build makes a view of a shape.
func (e *Engine) build(sh *shape) *view {
	x := e.index
	ranks, byRank, order := x.Ranks()
	e.counters.Built++
	v := &view{owner: sh, pos: x.LogEnd(), order: order, seats: make([]seat, len(x.Rows)),
		limit: min(max(len(byRank)/e.tune.sets, e.tune.listed), 256), size: len(byRank), top: int(e.rules.top), bytes: 300 + 4*len(x.Rows)}
	for i := range x.Rows {
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
		for len(v.seats) <= int(id) {
			v.seats = append(v.seats, 0)
		}
		v.place(x, id, ranks)
	}
	v.pos = x.LogEnd()
}

// place puts a node where it belongs now.
func (v *view) place(x *cluster.Index, id cluster.NodeID, ranks []int32) {
	sh, old := v.owner, v.seats[id]
	r := &x.Rows[id]
	if !r.Live {
		v.leave(old, ranks[id])
		v.seats[id] = 0
		return
	}
	if f := sh.beside(x.State(), id, nil); f != 0 {
		v.out(id, ranks[id], f)
		return
	}
	if sh.static.Values[id] < 0 || !sh.roomy(r) {
		if f := sh.judge(x, id); f != 0 {
			v.out(id, ranks[id], f)
			return
		}
	}
	v.seat(x, id, ranks[id])
}

// out puts a node out for a fail.
func (v *view) out(id cluster.NodeID, rank int32, f fail) {
	old := v.seats[id]
	if now := seatOut | seat(v.failOf(f)); now != old {
		v.leave(old, rank)
		v.fails[now&^seatOut].nodes++
		v.seats[id] = now
	}
}

// seat puts a node into its bucket.
func (v *view) seat(x *cluster.Index, id cluster.NodeID, rank int32) {
	sh, old := v.owner, v.seats[id]
	var of vector
	sh.read(id, &of)
	points := sh.points(x, id)
	b := int32(-1)
	if old != 0 && old&seatOut == 0 && of.same(&v.buckets[old.bucket()].of, sh.reads) {
		if points == old.points() {
			return
		}
		b = old.bucket()
	}
	v.leave(old, rank)
	if b < 0 {
		b = v.bucketOf(&of)
	}
	v.seats[id] = v.join(b, points, rank)
}

// failOf is the index of a fail.
func (v *view) failOf(f fail) int {
	for i := range v.fails {
		if v.fails[i].fail == f {
			return i
		}
	}
	v.fails = append(v.fails, failCount{f, 0})
	return len(v.fails) - 1
}

// leave takes a node out of where it is.
func (v *view) leave(s seat, rank int32) {
	if s&seatOut != 0 {
		v.fails[s&^seatOut].nodes--
		return
	}
	if s == 0 {
		return
	}
	b := &v.buckets[s.bucket()]
	set := b.set(s.points())
	v.bytes -= set.bytes()
	set.del(rank, v.limit)
	v.bytes += set.bytes()
	if set.n == 0 {
		b.mask[s.points()>>6] &^= 1 << (s.points() & 63)
	}
	if b.count--; b.count == 0 {
		v.empty++
	}
}

// join puts a node into a bucket.
func (v *view) join(bucket, points, rank int32) seat {
	b := &v.buckets[bucket]
	set := b.reach(points)
	v.bytes -= set.bytes()
	set.add(rank, v.limit, v.size)
	v.bytes += set.bytes()
	if set.n == 1 {
		b.mask[points>>6] |= 1 << (points & 63)
	}
	if b.count++; b.count == 1 {
		v.empty--
	}
	return sit(bucket, points)
}

// bucketOf finds or makes the bucket of a vector.
func (v *view) bucketOf(of *vector) int32 {
	b := v.index.find(v.buckets, of, v.owner.reads)
	if b >= 0 {
		return b
	}
	b = int32(len(v.buckets))
	v.buckets = append(v.buckets, bucket{of: *of, mask: make([]uint64, v.top/64+1)})
	v.index.add(v.buckets, v.owner.reads)
	v.bytes += 500 + 4*v.top // with room for the pointers to sets
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
	for e.taken > e.limit() && len(e.views) > 1 {
		e.drop(e.oldest(v).owner)
	}
}

// oldest is the view that was not used for longest, other than one.
func (e *Engine) oldest(but *view) *view {
	var oldest *view
	for _, v := range e.views {
		if v != but && (oldest == nil || v.owner.used < oldest.owner.used) {
			oldest = v
		}
	}
	return oldest
}
