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
	ringVersion    uint64      // version of the node ring
	refs           []bucketRef // by NodeID
	buckets        []nodeBucket
	index          bucketIndex
	empty          int // number of buckets without nodes
	failures       []failureCount
	limit          int // maximum length of a rank list
	size           int // number of ranks
	maxScore       int
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

func newBucketRef(bucket, score int32) bucketRef {
	return bucketRef(bucket+1)<<scoreBits | bucketRef(score)
}

func (ref bucketRef) bucket() int32 { return int32(ref>>scoreBits) - 1 }
func (ref bucketRef) score() int32  { return int32(ref & (1<<scoreBits - 1)) }

// cacheFor returns the updated cache of a class. It returns nil if a scan is cheaper, that is,
// for the first decision or if too much has changed since the last one. It also returns nil if
// a cache is not possible or would not fit into memory.
func (e *Engine) cacheFor(ec *equivalenceClass) *scoreCache {
	x := e.index
	end := x.LogEnd()
	since, gap, decided := end-ec.lastLogPos, e.clock-ec.lastClock, ec.decided
	ec.lastLogPos, ec.lastClock, ec.decided = end, e.clock, true
	limit := e.maxLag()
	ranks, _, ringVersion := x.Ranks()
	if c := ec.cache; c != nil {
		if c.ringVersion == ringVersion && end-c.logPos <= limit {
			if _, ok := x.Log(c.logPos); ok && (c.empty <= 64 || c.empty <= len(c.buckets)/2) && len(c.buckets) < maxBuckets/2 {
				c.update(x, ranks)
				e.evictCaches(c)
				return c
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

// worthCaching reports whether the cache of a class that was last used gap decisions ago fits into memory, or may replace
// another cache. The other cache must have been unused for more than twice as long, so that classes used in rotation do
// not evict each other's caches.
func (e *Engine) worthCaching(gap uint64) bool {
	if len(e.caches) == 0 || e.cacheBytes+e.cacheBytes/len(e.caches) <= e.maxCacheBytes() {
		return true
	}
	return e.clock-e.leastRecentlyUsed(nil).class.lastUsed > 2*gap
}

func (e *Engine) buildCache(ec *equivalenceClass) *scoreCache {
	x := e.index
	ranks, byRank, ringVersion := x.Ranks()
	e.counters.CachesBuilt++
	c := &scoreCache{class: ec, logPos: x.LogEnd(), ringVersion: ringVersion, refs: make([]bucketRef, len(x.Rows)),
		limit: min(max(len(byRank)/e.tune.rankListFraction, e.tune.minRankList), 256), size: len(byRank), maxScore: int(e.plugins.maxNodeScore), bytes: 300 + 4*len(x.Rows)}
	for i := range x.Rows {
		if x.Rows[i].Exists {
			c.place(x, cluster.NodeID(i), ranks)
		}
	}
	ec.cache = c
	e.caches = append(e.caches, c)
	e.evictCaches(c)
	return c
}

// update evaluates the changed nodes again.
func (c *scoreCache) update(x *cluster.Index, ranks []int32) {
	entries, _ := x.Log(c.logPos)
	for i, id := range entries {
		if !x.IsLast(id, c.logPos+int64(i)) {
			continue
		}
		for len(c.refs) <= int(id) {
			c.refs = append(c.refs, 0)
		}
		c.place(x, id, ranks)
	}
	c.logPos = x.LogEnd()
}

// place evaluates a node and moves it to its bucket or failure.
func (c *scoreCache) place(x *cluster.Index, id cluster.NodeID, ranks []int32) {
	ec, old := c.class, c.refs[id]
	r := &x.Rows[id]
	if !r.Exists {
		c.remove(old, ranks[id])
		c.refs[id] = 0
		return
	}
	if f := ec.filterWithNominated(x.State(), id, nil); f != 0 {
		c.addFailed(id, ranks[id], f)
		return
	}
	if ec.static.Values[id] < 0 || !ec.passesQuickFit(r) {
		if f := ec.filter(x, id); f != 0 {
			c.addFailed(id, ranks[id], f)
			return
		}
	}
	c.addToBucket(x, id, ranks[id])
}

func (c *scoreCache) addFailed(id cluster.NodeID, rank int32, f failure) {
	old := c.refs[id]
	if failed := refFailed | bucketRef(c.failureIndex(f)); failed != old {
		c.remove(old, rank)
		c.failures[failed&^refFailed].nodes++
		c.refs[id] = failed
	}
}

func (c *scoreCache) addToBucket(x *cluster.Index, id cluster.NodeID, rank int32) {
	ec, old := c.class, c.refs[id]
	var key bucketKey
	ec.readKey(id, &key)
	score := ec.nodeScore(x, id)
	b := int32(-1)
	if old != 0 && old&refFailed == 0 && key.equal(&c.buckets[old.bucket()].key, ec.usedSlots) {
		if score == old.score() {
			return
		}
		b = old.bucket()
	}
	c.remove(old, rank)
	if b < 0 {
		b = c.bucketOf(&key)
	}
	c.refs[id] = c.add(b, score, rank)
}

func (c *scoreCache) failureIndex(f failure) int {
	for i := range c.failures {
		if c.failures[i].failure == f {
			return i
		}
	}
	c.failures = append(c.failures, failureCount{f, 0})
	return len(c.failures) - 1
}

func (c *scoreCache) remove(ref bucketRef, rank int32) {
	if ref&refFailed != 0 {
		c.failures[ref&^refFailed].nodes--
		return
	}
	if ref == 0 {
		return
	}
	b := &c.buckets[ref.bucket()]
	set := b.rankSetAt(ref.score())
	c.bytes -= set.bytes()
	set.del(rank, c.limit)
	c.bytes += set.bytes()
	if set.n == 0 {
		b.scoreMask[ref.score()>>6] &^= 1 << (ref.score() & 63)
	}
	if b.count--; b.count == 0 {
		c.empty++
	}
}

func (c *scoreCache) add(bucket, score, rank int32) bucketRef {
	b := &c.buckets[bucket]
	set := b.growTo(score)
	c.bytes -= set.bytes()
	set.add(rank, c.limit, c.size)
	c.bytes += set.bytes()
	if set.n == 1 {
		b.scoreMask[score>>6] |= 1 << (score & 63)
	}
	if b.count++; b.count == 1 {
		c.empty--
	}
	return newBucketRef(bucket, score)
}

// bucketOf returns the index of the bucket of a key, creating it if necessary.
func (c *scoreCache) bucketOf(key *bucketKey) int32 {
	b := c.index.find(c.buckets, key, c.class.usedSlots)
	if b >= 0 {
		return b
	}
	b = int32(len(c.buckets))
	c.buckets = append(c.buckets, nodeBucket{key: *key, scoreMask: make([]uint64, c.maxScore/64+1)})
	c.index.add(c.buckets, c.class.usedSlots)
	c.bytes += 500 + 4*c.maxScore // including the pointers to sets
	c.empty++
	return b
}

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

func (e *Engine) dropCache(ec *equivalenceClass) {
	c := ec.cache
	if c == nil {
		return
	}
	ec.cache = nil
	e.cacheBytes -= c.accountedBytes
	if i := slices.Index(e.caches, c); i >= 0 {
		e.caches = slices.Delete(e.caches, i, i+1)
	}
}

// evictCaches accounts for the size of c and drops the least recently used other caches above the
// limit.
func (e *Engine) evictCaches(c *scoreCache) {
	e.cacheBytes += c.bytes - c.accountedBytes
	c.accountedBytes = c.bytes
	for e.cacheBytes > e.maxCacheBytes() && len(e.caches) > 1 {
		e.dropCache(e.leastRecentlyUsed(c).class)
	}
}

// leastRecentlyUsed returns the least recently used cache other than exclude.
func (e *Engine) leastRecentlyUsed(exclude *scoreCache) *scoreCache {
	var oldest *scoreCache
	for _, c := range e.caches {
		if c != exclude && (oldest == nil || c.class.lastUsed < oldest.class.lastUsed) {
			oldest = c
		}
	}
	return oldest
}
