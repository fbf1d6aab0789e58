package fastpath

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
)

// Shapes that differ only in what few nodes have (pods of their own app, an
// image) share a view: that of their base, the shape without all that. For each
// decision those few nodes are lifted out of the shared view, judged one by one, and
// put back. So a thousand apps of twenty sizes keep twenty views up to date and not a
// thousand, and a new app of a known size is decided like an old one.

// baseKey is what makes bases equal.
type baseKey struct {
	partition partitionKey
	priority  int32
	numbers   [6]int64 // what nodeScore reads
}

// partitionKey is what a base reads of what nodes are.
type partitionKey struct {
	static     *cluster.NodeValues
	topologies [4]*cluster.Topology // by key
}

// maxExceptions is how many nodes are lifted at most.
const maxExceptions = 256

// orderSlots orders the slots so that those of domains come first, by key: shapes that read
// the same domains agree in their slots with their base.
func (c *classBuilder) orderSlots() {
	if c.slots > maxSlots {
		return
	}
	slices.SortFunc(c.domainSlots, func(a, b domainSlot) int { return cmp.Compare(a.topology.Key, b.topology.Key) })
	var to [maxSlots]int
	next := slotFirst
	take := func(slot int) {
		if to[slot] == 0 {
			to[slot] = next
			next++
		}
	}
	for i := range c.domainSlots {
		take(c.domainSlots[i].slot)
		c.domainSlots[i].slot = to[c.domainSlots[i].slot]
	}
	for slot := slotFirst; slot < c.slots; slot++ {
		take(slot)
	}
	for i := range c.hard {
		c.hard[i].slot = to[c.hard[i].slot]
	}
	for i := range c.soft {
		c.soft[i].slot = to[c.soft[i].slot]
	}
	for _, list := range [][]affinityTerm{c.affinity, c.antiAffinity, c.existingAntiAffinity, c.scoringTerms} {
		for i := range list {
			list[i].slot = to[list[i].slot] // 0 stays 0
		}
	}
}

// collectExceptionCounters notes which nodes a shape may see otherwise than its base: those that
// its fine counters count on; and what it takes the others for.
func (c *classBuilder) collectExceptionCounters() {
	spot := func(k *cluster.DomainCounter) {
		if !slices.Contains(c.exceptionCounters, k) {
			c.exceptionCounters = append(c.exceptionCounters, k)
		}
	}
	everywhere := func(k *cluster.Topology) {
		if !slices.Contains(c.requiredLabels, k) {
			c.requiredLabels = append(c.requiredLabels, k)
		}
	}
	for i := range c.countSlots {
		spot(c.countSlots[i].counter)
		if c.countSlots[i].present != 0 {
			everywhere(c.countSlots[i].counter.Topology)
		}
	}
	for _, list := range [][]affinityTerm{c.affinity, c.antiAffinity, c.existingAntiAffinity, c.scoringTerms} {
		for i := range list {
			if list[i].slot == 0 {
				spot(list[i].counter)
			}
		}
	}
	for i := range c.affinity {
		if p := &c.affinity[i]; p.slot == 0 {
			everywhere(p.counter.Topology)
			c.defaultFlags |= flagAffinityNone
		}
	}
	if c.hostnames != nil {
		everywhere(c.hostnames)
		c.defaultFlags |= flagHostname
	}
}

// baseClass finds or makes the base of a shape; nil where it can have none.
func (c *classBuilder) baseClass() *equivalenceClass {
	s := &c.score
	if c.reference || len(c.domainSlots) > len(c.partition.topologies) {
		return nil
	}
	c.hasPartition, c.partition.static = true, c.static
	for i := range c.domainSlots {
		c.partition.topologies[i] = c.domainSlots[i].topology
	}
	if !s.cpuMemoryOnly || len(s.scorers) > 0 {
		return nil
	}
	key := baseKey{partition: c.partition, priority: c.spec.Priority,
		numbers: [6]int64{s.want.MilliCPU, s.want.Memory, s.fitWeight, s.balanceWeight, s.scoringCPU, s.scoringMem}}
	b := c.e.baseClasses[key]
	if b == nil {
		b = &equivalenceClass{spec: c.spec, slots: slotFirst + len(c.domainSlots), lastLogPos: -1, static: c.static, score: c.score,
			domainSlots: slices.Clone(c.domainSlots), reads: []uint8{slotStatic}, hasPartition: true, partition: c.partition}
		for i := range b.domainSlots {
			b.reads = append(b.reads, uint8(b.domainSlots[i].slot))
		}
		b.usesDomains = len(b.domainSlots) > 0
		c.e.baseClasses[key] = b
	}
	b.lastUsed = c.e.clock
	return b
}

// collectExceptions notes the nodes that the shape sees otherwise than its base, if they
// are no more than a number; ok is false when they are, or when too many are not known.
func (e *Engine) collectExceptions(ec *equivalenceClass, most int) (ok bool) {
	sc := &e.scratch
	sc.exceptions = sc.exceptions[:0]
	for _, c := range ec.requiredLabels {
		if !e.index.OnAllNodes(c) {
			return false
		}
	}
	if sc.anyImage {
		if sc.exceptions, ok = ec.mask.AppendNonzero(sc.exceptions, most); !ok {
			return false
		}
	}
	for _, k := range ec.exceptionCounters {
		if sc.exceptions, ok = k.AppendCounted(sc.exceptions, most); !ok {
			return false
		}
	}
	return true
}

// usesSharedCache says whether a shape is decided by its base's view. To lift a node costs about as
// much as to look again at one that has changed. One that is asked for all the time
// while many nodes are its own gets a view for itself, or has it brought up to date, when the
// lifting has cost more than that would.
func (e *Engine) usesSharedCache(ec *equivalenceClass) bool {
	if ec.base == nil || !e.collectExceptions(ec, maxExceptions) {
		return false
	}
	ec.base.lastUsed = e.clock
	end, lifting := e.index.LogEnd(), int64(len(e.scratch.exceptions))
	if ec.seen {
		ec.exceptionCost = max(0, ec.exceptionCost+lifting-(end-ec.lastLogPos))
	}
	price := int64(e.state.NumNodes() / 2)
	if v := ec.cache; v != nil {
		lag := end - v.logPos
		if lag <= e.maxLag() {
			price = lag
		}
		if lag <= lifting {
			return false
		}
	}
	if ec.exceptionCost > price {
		ec.exceptionCost = 0
		return false
	}
	ec.lastLogPos, ec.lastClock, ec.seen = end, e.clock, true
	return true
}

// setDefaults makes a bucket of the base's view one of the shape's.
func (ec *equivalenceClass) setDefaults(b *nodeBucket) {
	b.key[slotImages], b.key[slotFlags], b.key[slotAffinityScore] = 0, ec.defaultFlags, 0
	for i := range ec.countSlots {
		b.key[ec.countSlots[i].slot] = ec.countSlots[i].present
	}
}

// applyExceptions takes the noted nodes out of the base's view into buckets of their own.
func (e *Engine) applyExceptions(v *scoreCache, ec *equivalenceClass) {
	sc := &e.scratch
	sc.index.clear()
	sc.buckets, sc.savedRefs = sc.buckets[:0], sc.savedRefs[:0]
	ranks, _, _ := e.index.Ranks()
	var of bucketKey
	for _, id := range sc.exceptions {
		s := v.refs[id]
		sc.savedRefs = append(sc.savedRefs, s)
		if s == 0 || s&refFailed != 0 {
			continue
		}
		v.remove(s, ranks[id])
		v.refs[id] = 0
		ec.readKey(id, &of)
		sc.buckets[sc.bucketOf(&of, ec.reads)].offer(id, s.score(), e.distance(ranks[id]))
	}
}

// revertExceptions undoes lift.
func (e *Engine) revertExceptions(v *scoreCache) {
	sc := &e.scratch
	ranks, _, _ := e.index.Ranks()
	for i, id := range sc.exceptions {
		if s := sc.savedRefs[i]; s != 0 && s&refFailed == 0 {
			v.refs[id] = v.add(s.bucket(), s.score(), ranks[id])
		}
	}
}
