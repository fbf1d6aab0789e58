package fastpath

import (
	"math/bits"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
)

// scoreCache holds the results of all nodes for one class: a failure, or a bucket by key and
// score.
type scoreCache struct {
	class          *equivalenceClass
	logPos         int64       // position up to which the change log was read
	ringVersion    uint64      // of the node ring
	refs           []bucketRef // by NodeID
	buckets        []nodeBucket
	index          bucketIndex
	empty          int // number of buckets without nodes
	failures       []failureCount
	limit          int // of rank lists
	size           int // number of ranks
	maxScore       int // points
	bytes          int
	accountedBytes int // part of Engine.cacheBytes
}

// bucketRef is the position of a node: none (0), a failure (refFailed and its index), or a
// bucket and score.
type bucketRef uint32

const (
	refFailed  bucketRef = 1 << 31
	scoreBits            = 12
	maxBuckets           = 1 << 18
)

func newBucketRef(bucket, points int32) bucketRef {
	return bucketRef(bucket+1)<<scoreBits | bucketRef(points)
}

func (s bucketRef) bucket() int32 { return int32(s>>scoreBits) - 1 }
func (s bucketRef) score() int32  { return int32(s & (1<<scoreBits - 1)) }

// cacheFor returns the updated cache of a class, or nil if a scan is cheaper: for the
// first decision, or if too much has changed since the last one.
func (e *Engine) cacheFor(ec *equivalenceClass) *scoreCache {
	x := e.index
	end := x.LogEnd()
	since, gap, decided := end-ec.lastLogPos, e.clock-ec.lastClock, ec.decided
	ec.lastLogPos, ec.lastClock, ec.decided = end, e.clock, true
	limit := e.maxLag()
	ranks, _, ringVersion := x.Ranks()
	if v := ec.cache; v != nil {
		if v.ringVersion == ringVersion && end-v.logPos <= limit {
			if _, ok := x.Log(v.logPos); ok && (v.empty <= 64 || v.empty <= len(v.buckets)/2) && len(v.buckets) < maxBuckets/2 {
				v.update(x, ranks)
				e.evictCaches(v)
				return v
			}
		}
		e.dropCache(ec)
	}
	if !decided || since > limit || e.plugins.maxNodeScore >= 1<<scoreBits || !e.worthCaching(gap) {
		return nil
	}
	return e.buildCache(ec)
}

// maxLag returns the number of log entries up to which updating a cache is cheaper than a
// scan.
func (e *Engine) maxLag() int64 {
	return int64(max(e.state.NumNodes()*e.tune.maxLagPercent/100, e.tune.minLag))
}

// worthCaching reports whether there is memory for a cache of a class that was used gap
// decisions ago, or a cache unused for twice as long to replace. So classes used in
// rotation do not evict each other's caches.
func (e *Engine) worthCaching(gap uint64) bool {
	if len(e.caches) == 0 || e.cacheBytes+e.cacheBytes/len(e.caches) <= e.maxCacheBytes() {
		return true
	}
	return e.clock-e.leastRecentlyUsed(nil).class.lastUsed > 2*gap
}

// buildCache builds the cache of a class.
func (e *Engine) buildCache(ec *equivalenceClass) *scoreCache {
	x := e.index
	ranks, byRank, ringVersion := x.Ranks()
	e.counters.CachesBuilt++
	v := &scoreCache{class: ec, logPos: x.LogEnd(), ringVersion: ringVersion, refs: make([]bucketRef, len(x.Rows)),
		limit: min(max(len(byRank)/e.tune.rankListFraction, e.tune.minRankList), 256), size: len(byRank), maxScore: int(e.plugins.maxNodeScore), bytes: 300 + 4*len(x.Rows)}
	for i := range x.Rows {
		if x.Rows[i].Exists {
			v.place(x, cluster.NodeID(i), ranks)
		}
	}
	ec.cache = v
	e.caches = append(e.caches, v)
	e.evictCaches(v)
	return v
}

// update evaluates the changed nodes again.
func (v *scoreCache) update(x *cluster.Index, ranks []int32) {
	entries, _ := x.Log(v.logPos)
	for i, id := range entries {
		if !x.IsLast(id, v.logPos+int64(i)) {
			continue
		}
		for len(v.refs) <= int(id) {
			v.refs = append(v.refs, 0)
		}
		v.place(x, id, ranks)
	}
	v.logPos = x.LogEnd()
}

// place evaluates a node and moves it.
func (v *scoreCache) place(x *cluster.Index, id cluster.NodeID, ranks []int32) {
	ec, old := v.class, v.refs[id]
	r := &x.Rows[id]
	if !r.Exists {
		v.remove(old, ranks[id])
		v.refs[id] = 0
		return
	}
	if f := ec.filterWithNominated(x.State(), id, nil); f != 0 {
		v.addFailed(id, ranks[id], f)
		return
	}
	if ec.static.Values[id] < 0 || !ec.passesQuickFit(r) {
		if f := ec.filter(x, id); f != 0 {
			v.addFailed(id, ranks[id], f)
			return
		}
	}
	v.addToBucket(x, id, ranks[id])
}

// addFailed moves a node to a failure.
func (v *scoreCache) addFailed(id cluster.NodeID, rank int32, f failure) {
	old := v.refs[id]
	if failed := refFailed | bucketRef(v.failureIndex(f)); failed != old {
		v.remove(old, rank)
		v.failures[failed&^refFailed].nodes++
		v.refs[id] = failed
	}
}

// addToBucket moves a node to its bucket.
func (v *scoreCache) addToBucket(x *cluster.Index, id cluster.NodeID, rank int32) {
	ec, old := v.class, v.refs[id]
	var key bucketKey
	ec.readKey(id, &key)
	points := ec.nodeScore(x, id)
	b := int32(-1)
	if old != 0 && old&refFailed == 0 && key.equal(&v.buckets[old.bucket()].key, ec.reads) {
		if points == old.score() {
			return
		}
		b = old.bucket()
	}
	v.remove(old, rank)
	if b < 0 {
		b = v.bucketOf(&key)
	}
	v.refs[id] = v.add(b, points, rank)
}

// failureIndex returns the index of a failure.
func (v *scoreCache) failureIndex(f failure) int {
	for i := range v.failures {
		if v.failures[i].failure == f {
			return i
		}
	}
	v.failures = append(v.failures, failureCount{f, 0})
	return len(v.failures) - 1
}

// remove removes a node from its position.
func (v *scoreCache) remove(s bucketRef, rank int32) {
	if s&refFailed != 0 {
		v.failures[s&^refFailed].nodes--
		return
	}
	if s == 0 {
		return
	}
	b := &v.buckets[s.bucket()]
	set := b.rankSetAt(s.score())
	v.bytes -= set.bytes()
	set.del(rank, v.limit)
	v.bytes += set.bytes()
	if set.n == 0 {
		b.scoreMask[s.score()>>6] &^= 1 << (s.score() & 63)
	}
	if b.count--; b.count == 0 {
		v.empty++
	}
}

// add adds a node to a bucket.
func (v *scoreCache) add(bucket, points, rank int32) bucketRef {
	b := &v.buckets[bucket]
	set := b.growTo(points)
	v.bytes -= set.bytes()
	set.add(rank, v.limit, v.size)
	v.bytes += set.bytes()
	if set.n == 1 {
		b.scoreMask[points>>6] |= 1 << (points & 63)
	}
	if b.count++; b.count == 1 {
		v.empty--
	}
	return newBucketRef(bucket, points)
}

// bucketOf returns the bucket of a key, creating it if necessary.
func (v *scoreCache) bucketOf(key *bucketKey) int32 {
	b := v.index.find(v.buckets, key, v.class.reads)
	if b >= 0 {
		return b
	}
	b = int32(len(v.buckets))
	v.buckets = append(v.buckets, nodeBucket{key: *key, scoreMask: make([]uint64, v.maxScore/64+1)})
	v.index.add(v.buckets, v.class.reads)
	v.bytes += 500 + 4*v.maxScore // including the pointers to sets
	v.empty++
	return b
}

// highestScore returns the highest score of a node in the bucket.
func (b *nodeBucket) highestScore() int32 {
	if b.scoreMask == nil {
		return b.bestScore
	}
	for i := len(b.scoreMask) - 1; i >= 0; i-- {
		if b.scoreMask[i] != 0 {
			return int32(i<<6 + 63 - bits.LeadingZeros64(b.scoreMask[i]))
		}
	}
	return 0
}

// dropCache drops the cache of a class.
func (e *Engine) dropCache(ec *equivalenceClass) {
	v := ec.cache
	if v == nil {
		return
	}
	ec.cache = nil
	e.cacheBytes -= v.accountedBytes
	if i := slices.Index(e.caches, v); i >= 0 {
		e.caches = slices.Delete(e.caches, i, i+1)
	}
}

// evictCaches updates the cache memory and drops the least recently used caches above the
// limit.
func (e *Engine) evictCaches(v *scoreCache) {
	e.cacheBytes += v.bytes - v.accountedBytes
	v.accountedBytes = v.bytes
	for e.cacheBytes > e.maxCacheBytes() && len(e.caches) > 1 {
		e.dropCache(e.leastRecentlyUsed(v).class)
	}
}

// leastRecentlyUsed returns the least recently used cache other than exclude.
func (e *Engine) leastRecentlyUsed(exclude *scoreCache) *scoreCache {
	var oldest *scoreCache
	for _, v := range e.caches {
		if v != exclude && (oldest == nil || v.class.lastUsed < oldest.class.lastUsed) {
			oldest = v
		}
	}
	return oldest
}
