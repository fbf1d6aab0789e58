package placement

import (
	"slices"

	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/decision"
)

// found is the outcome of a walk over buckets.
type found struct {
	feasible int
	total    int64
	node     cluster.NodeID
}

// extent is the feasible buckets' extreme raw values.
type extent struct {
	soft, preference    int64 // most
	leastDrawn, drawn   int64
	leastSpread, spread int64
	takes               bool // some bucket takes part in soft spreading
	taking              int  // nodes that do
}

// walk decides over buckets that have nodes: verdicts by domain, raw values and their extremes,
// then totals.
func (e *Engine) walk(sh *shape, buckets []*bucket) found {
	var out found
	var ext extent
	for _, b := range buckets {
		if b.verdict = sh.verdict(b); b.verdict != fits {
			continue
		}
		sh.measure(b, &ext, out.feasible == 0)
		out.feasible += int(b.count)
	}
	if out.feasible == 0 {
		return out
	}
	if len(sh.soft) > 0 {
		e.spreadOut(sh, buckets, &ext)
	}
	away, first := int32(0), true
	for _, b := range buckets {
		if b.verdict != fits {
			continue
		}
		most := b.most()
		total := int64(most) + e.shared(sh, b, &ext)
		if !first && total < out.total {
			continue
		}
		node, from := b.best, b.away
		if b.mask != nil {
			rank := b.set(most).next(e.start())
			node, from = e.index.AtRank(rank), e.away(rank)
		}
		if first || total > out.total || from < away {
			out.total, out.node, away, first = total, node, from, false
		}
	}
	return out
}

// start is the rank at the pod's point on the circle, away how many ranks another is
// from there.
func (e *Engine) start() int32 {
	if sc := &e.scratch; sc.start < 0 {
		sc.start = e.index.RankFrom(sc.point)
	}
	return e.scratch.start
}

func (e *Engine) away(rank int32) int32 {
	if rank -= e.start(); rank < 0 {
		rank += e.index.NumRanks()
	}
	return rank
}

// verdict judges a bucket by the rules that count over domains, in their order.
func (sh *shape) verdict(b *bucket) verdict {
	for i := range sh.hard {
		h := &sh.hard[i]
		at := b.of[h.slot]
		if at == 0 {
			return outSpreadLabel
		}
		count := int64(at) - 1
		if !h.fine {
			count = int64(h.counter.In(at))
		}
		least, domains := h.counter.Min()
		if domains < h.minDomains {
			least = 0
		}
		if count+h.self-int64(least) > h.maxSkew {
			return outSpread
		}
	}
	if len(sh.affine) > 0 && !sh.reached(b) {
		return outAffinity
	}
	if repelled(sh.anti, b, flagAnti) {
		return outAnti
	}
	if repelled(sh.against, b, flagAgainst) {
		return outAgainst
	}
	return fits
}

// reached says whether the pods of all affinity terms are within reach. The
// first pod of a group that is affine to itself may go to any node with all keys.
func (sh *shape) reached(b *bucket) bool {
	flags := b.of[slotFlags]
	if flags&flagAffinityLabel != 0 {
		return false
	}
	none := flags&flagAffinityNone != 0
	var drawn int64
	for i := range sh.affine {
		p := &sh.affine[i]
		drawn += p.counter.Total
		if p.slot == 0 {
			continue
		}
		at := b.of[p.slot]
		if at == 0 {
			return false
		}
		none = none || p.counter.In(at) <= 0
	}
	return !none || (drawn == 0 && sh.selfish)
}

func repelled(list []pull, b *bucket, flag int32) bool {
	if b.of[slotFlags]&flag != 0 {
		return true
	}
	for i := range list {
		if p := &list[i]; p.slot != 0 && p.counter.In(b.of[p.slot]) > 0 {
			return true
		}
	}
	return false
}

// measure computes a bucket's raw values, but for soft spreading.
func (sh *shape) measure(b *bucket, ext *extent, first bool) {
	soft, preference := unpackStatic(b.of[slotStatic])
	ext.soft, ext.preference = max(ext.soft, soft), max(ext.preference, preference)
	if len(sh.draws) == 0 {
		return
	}
	b.drawn = int64(b.of[slotDraw])
	for i := range sh.draws {
		if p := &sh.draws[i]; p.slot != 0 {
			b.drawn += p.weight * int64(p.counter.In(b.of[p.slot]))
		}
	}
	if first {
		ext.leastDrawn, ext.drawn = b.drawn, b.drawn
	}
	ext.leastDrawn, ext.drawn = min(ext.leastDrawn, b.drawn), max(ext.drawn, b.drawn)
}

// shared is the part of the total that is equal for all nodes of a bucket.
func (e *Engine) shared(sh *shape, b *bucket, ext *extent) int64 {
	w := &e.rules.weights
	soft, preference := unpackStatic(b.of[slotStatic])
	var total int64
	if weight := w[decision.TaintToleration]; weight > 0 {
		points := int64(100)
		if ext.soft > 0 {
			points = 100 - 100*soft/ext.soft
		}
		total += weight * points
	}
	if sh.prefers && ext.preference > 0 {
		total += w[decision.NodeAffinity] * (100 * preference / ext.preference)
	}
	if len(sh.draws) > 0 && ext.drawn > ext.leastDrawn {
		part := float64(b.drawn-ext.leastDrawn) / float64(ext.drawn-ext.leastDrawn)
		total += w[decision.InterPodAffinity] * int64(float64(100*part))
	}
	if len(sh.soft) > 0 && !b.aside {
		points := int64(100)
		if ext.spread > 0 {
			points = 100 * (ext.spread + ext.leastSpread - b.spread) / ext.spread
		}
		total += w[decision.PodTopologySpread] * points
	}
	if sh.mask != nil {
		total += w[decision.ImageLocality] * e.imagePoints(sh, b.of[slotImages])
	}
	return total
}

// imagePoints is what ImageLocality gives for the images of a mask.
func (e *Engine) imagePoints(sh *shape, mask int32) int64 {
	ceiling := int64(imageCeiling) * int64(sh.spec.ImageContainers)
	var sum int64
	for _, image := range sh.spec.Images {
		i := slices.Index(sh.images, image)
		if mask&(1<<i) != 0 {
			sum += e.scratch.worth[i]
		}
	}
	sum = max(imageFloor, min(sum, ceiling))
	return 100 * (sum - imageFloor) / (ceiling - imageFloor)
}
