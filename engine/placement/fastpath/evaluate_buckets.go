package fastpath

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
	"github.com/berthproject/berth/engine/placement/plugins"
)

// bestResult is the result of evaluateBuckets.
type bestResult struct {
	feasible int
	total    int64
	node     cluster.NodeID
}

// scoreBounds are the extremes of the raw scores of feasible buckets.
type scoreBounds struct {
	maxTaints, maxPreference int64
	minAffinity, maxAffinity int64
	minSpread, maxSpread     int64
	anySpread                bool // some bucket takes part in soft spreading
	spreadNodes              int  // number of nodes that take part
}

// evaluateBuckets decides over the non-empty buckets: filters by domain, raw scores with
// their extremes, then totals.
func (e *Engine) evaluateBuckets(ec *equivalenceClass, buckets []*nodeBucket) bestResult {
	var out bestResult
	var bounds scoreBounds
	for _, b := range buckets {
		if b.verdict = ec.filterBucket(b); b.verdict != bucketFits {
			continue
		}
		ec.scoreBucket(b, &bounds, out.feasible == 0)
		out.feasible += int(b.count)
	}
	if out.feasible == 0 {
		return out
	}
	if len(ec.soft) > 0 {
		e.scoreSpread(ec, buckets, &bounds)
	}
	distance, first := int32(0), true
	for _, b := range buckets {
		if b.verdict != bucketFits {
			continue
		}
		score := b.highestScore()
		total := int64(score) + e.groupScore(ec, b, &bounds)
		if !first && total < out.total {
			continue
		}
		node, nodeDistance := b.best, b.distance
		if b.scoreMask != nil {
			rank := b.rankSetAt(score).next(e.startRank())
			node, nodeDistance = e.index.NodeAtRank(rank), e.distance(rank)
		}
		if first || total > out.total || nodeDistance < distance {
			out.total, out.node, distance, first = total, node, nodeDistance, false
		}
	}
	return out
}

// startRank returns the rank of the first node in the tie-breaking order of the pod.
func (e *Engine) startRank() int32 {
	if sc := &e.scratch; sc.startRank < 0 {
		sc.startRank = e.index.RankAtOrAfter(sc.tieStart)
	}
	return e.scratch.startRank
}

// distance returns the number of ranks from startRank to a rank on the node ring.
func (e *Engine) distance(rank int32) int32 {
	if rank -= e.startRank(); rank < 0 {
		rank += e.index.NumRanks()
	}
	return rank
}

// filterBucket runs the filters that count pods by domain, in order.
func (ec *equivalenceClass) filterBucket(b *nodeBucket) bucketVerdict {
	for i := range ec.hard {
		h := &ec.hard[i]
		value := b.key[h.slot]
		if value == 0 {
			return bucketSpreadLabel
		}
		count := int64(value) - 1
		if !h.fineGrained {
			count = int64(h.counter.InDomain(value))
		}
		least, domains := h.counter.Min()
		if domains < h.minDomains {
			least = 0
		}
		if count+h.selfMatch-int64(least) > h.maxSkew {
			return bucketSpread
		}
	}
	if len(ec.affinity) > 0 && !ec.satisfiesAffinity(b) {
		return bucketAffinity
	}
	if violatesAntiAffinity(ec.antiAffinity, b, flagAntiAffinity) {
		return bucketAntiAffinity
	}
	if violatesAntiAffinity(ec.existingAntiAffinity, b, flagExistingAntiAffinity) {
		return bucketExistingAntiAffinity
	}
	return bucketFits
}

// satisfiesAffinity reports whether all affinity terms are satisfied. The first pod of a
// group with affinity to itself may use any node with all keys.
func (ec *equivalenceClass) satisfiesAffinity(b *nodeBucket) bool {
	flags := b.key[slotFlags]
	if flags&flagAffinityLabel != 0 {
		return false
	}
	noMatch := flags&flagAffinityNone != 0
	var affinity int64
	for i := range ec.affinity {
		t := &ec.affinity[i]
		affinity += t.counter.Total
		if t.slot == 0 {
			continue
		}
		domain := b.key[t.slot]
		if domain == 0 {
			return false
		}
		noMatch = noMatch || t.counter.InDomain(domain) <= 0
	}
	return !noMatch || (affinity == 0 && ec.selfAffinity)
}

func violatesAntiAffinity(list []affinityTerm, b *nodeBucket, flag int32) bool {
	if b.key[slotFlags]&flag != 0 {
		return true
	}
	for i := range list {
		if t := &list[i]; t.slot != 0 && t.counter.InDomain(b.key[t.slot]) > 0 {
			return true
		}
	}
	return false
}

// scoreBucket computes the raw scores of a bucket except soft spreading.
func (ec *equivalenceClass) scoreBucket(b *nodeBucket, bounds *scoreBounds, first bool) {
	soft, preference := unpackStatic(b.key[slotStatic])
	bounds.maxTaints, bounds.maxPreference = max(bounds.maxTaints, soft), max(bounds.maxPreference, preference)
	if len(ec.scoringTerms) == 0 {
		return
	}
	b.affinityScore = int64(b.key[slotAffinityScore])
	for i := range ec.scoringTerms {
		if t := &ec.scoringTerms[i]; t.slot != 0 {
			b.affinityScore += t.weight * int64(t.counter.InDomain(b.key[t.slot]))
		}
	}
	if first {
		bounds.minAffinity, bounds.maxAffinity = b.affinityScore, b.affinityScore
	}
	bounds.minAffinity, bounds.maxAffinity = min(bounds.minAffinity, b.affinityScore), max(bounds.maxAffinity, b.affinityScore)
}

// groupScore returns the part of the total score that is equal for all nodes of a bucket.
func (e *Engine) groupScore(ec *equivalenceClass, b *nodeBucket, bounds *scoreBounds) int64 {
	w := &e.plugins.weights
	soft, preference := unpackStatic(b.key[slotStatic])
	var total int64
	if weight := w[decision.TaintToleration]; weight > 0 {
		points := int64(100)
		if bounds.maxTaints > 0 {
			points = 100 - 100*soft/bounds.maxTaints
		}
		total += weight * points
	}
	if ec.prefers && bounds.maxPreference > 0 {
		total += w[decision.NodeAffinity] * (100 * preference / bounds.maxPreference)
	}
	if len(ec.scoringTerms) > 0 && bounds.maxAffinity > bounds.minAffinity {
		part := float64(b.affinityScore-bounds.minAffinity) / float64(bounds.maxAffinity-bounds.minAffinity)
		total += w[decision.InterPodAffinity] * int64(float64(100*part))
	}
	if len(ec.soft) > 0 && !b.ignoredInSpread {
		points := int64(100)
		if bounds.maxSpread > 0 {
			points = 100 * (bounds.maxSpread + bounds.minSpread - b.spreadScore) / bounds.maxSpread
		}
		total += w[decision.PodTopologySpread] * points
	}
	if ec.mask != nil {
		total += w[decision.ImageLocality] * e.imageScore(ec, b.key[slotImages])
	}
	return total
}

func (e *Engine) imageScore(ec *equivalenceClass, mask int32) int64 {
	ceiling := int64(plugins.MaxContainerImageThreshold) * int64(ec.spec.ImageContainers)
	var sum int64
	for _, image := range ec.spec.Images {
		i := slices.Index(ec.images, image)
		if mask&(1<<i) != 0 {
			sum += e.scratch.imageScores[i]
		}
	}
	sum = max(plugins.MinImageThreshold, min(sum, ceiling))
	return 100 * (sum - plugins.MinImageThreshold) / (ceiling - plugins.MinImageThreshold)
}
