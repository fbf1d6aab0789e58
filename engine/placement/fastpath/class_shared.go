package fastpath

import (
	"cmp"
	"slices"

	"github.com/berthproject/berth/engine/cluster"
)

// Some classes differ only in values of a few nodes, such as counts of an app's pods or the presence of an image. They
// share the score cache of their base class, which ignores these values. Each decision takes these exception nodes out of
// the shared cache, evaluates them individually and puts them back. Therefore many apps with few different sizes need few
// caches, and a new app of a known size does not need a scan.

// baseKey is the key of a base class.
type baseKey struct {
	partition partitionKey
	priority  int32
	numbers   [6]int64 // resources and weights
}

// partitionKey identifies what a base class reads of node objects.
type partitionKey struct {
	static     *cluster.NodeValues
	topologies [4]*cluster.Topology // sorted by key
}

// maxExceptions is the maximum number of exception nodes in a decision.
const maxExceptions = 256

// orderSlots puts the domain slots first, ordered by key, so that classes with equal
// topologies use the slots of their base class.
func (c *classBuilder) orderSlots() {
	if c.slots > maxSlots {
		return
	}
	slices.SortFunc(c.domainSlots, func(a, b domainSlot) int { return cmp.Compare(a.topology.Key, b.topology.Key) })
	var newSlots [maxSlots]int
	next := slotFirst
	assign := func(slot int) {
		if newSlots[slot] == 0 {
			newSlots[slot] = next
			next++
		}
	}
	for i := range c.domainSlots {
		assign(c.domainSlots[i].slot)
		c.domainSlots[i].slot = newSlots[c.domainSlots[i].slot]
	}
	for slot := slotFirst; slot < c.slots; slot++ {
		assign(slot)
	}
	for i := range c.hard {
		c.hard[i].slot = newSlots[c.hard[i].slot]
	}
	for i := range c.soft {
		c.soft[i].slot = newSlots[c.soft[i].slot]
	}
	for _, list := range [][]affinityTerm{c.affinity, c.antiAffinity, c.existingAntiAffinity, c.scoringTerms} {
		for i := range list {
			list[i].slot = newSlots[list[i].slot] // 0 stays 0
		}
	}
}

// collectExceptionCounters determines the counters whose counted nodes are exceptions, and
// the values of all other nodes.
func (c *classBuilder) collectExceptionCounters() {
	addCounter := func(k *cluster.DomainCounter) {
		if !slices.Contains(c.exceptionCounters, k) {
			c.exceptionCounters = append(c.exceptionCounters, k)
		}
	}
	requireLabel := func(k *cluster.Topology) {
		if !slices.Contains(c.requiredLabels, k) {
			c.requiredLabels = append(c.requiredLabels, k)
		}
	}
	for i := range c.countSlots {
		addCounter(c.countSlots[i].counter)
		if c.countSlots[i].present != 0 {
			requireLabel(c.countSlots[i].counter.Topology)
		}
	}
	for _, list := range [][]affinityTerm{c.affinity, c.antiAffinity, c.existingAntiAffinity, c.scoringTerms} {
		for i := range list {
			if list[i].slot == 0 {
				addCounter(list[i].counter)
			}
		}
	}
	for i := range c.affinity {
		if t := &c.affinity[i]; t.slot == 0 {
			requireLabel(t.counter.Topology)
			c.defaultFlags |= flagAffinityNone
		}
	}
	if c.hostnames != nil {
		requireLabel(c.hostnames)
		c.defaultFlags |= flagHostname
	}
}

// baseClass returns the base class, creating it if necessary; nil if there is none.
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
		numbers: [6]int64{s.requests.MilliCPU, s.requests.Memory, s.fitWeight, s.balanceWeight, s.scoringCPU, s.scoringMem}}
	b := c.engine.baseClasses[key]
	if b == nil {
		b = &equivalenceClass{spec: c.spec, slots: slotFirst + len(c.domainSlots), lastLogPos: -1, static: c.static, score: c.score,
			domainSlots: slices.Clone(c.domainSlots), usedSlots: []uint8{slotStatic}, hasPartition: true, partition: c.partition}
		for i := range b.domainSlots {
			b.usedSlots = append(b.usedSlots, uint8(b.domainSlots[i].slot))
		}
		b.usesDomains = len(b.domainSlots) > 0
		c.engine.baseClasses[key] = b
	}
	b.lastUsed = c.engine.clock
	return b
}

// collectExceptions collects the exception nodes of a class. ok is false if there are more
// than limit, or if a required label is missing on a node.
func (e *Engine) collectExceptions(ec *equivalenceClass, limit int) (ok bool) {
	sc := &e.scratch
	sc.exceptions = sc.exceptions[:0]
	for _, c := range ec.requiredLabels {
		if !e.index.OnAllNodes(c) {
			return false
		}
	}
	if sc.anyImage {
		if sc.exceptions, ok = ec.mask.AppendNonzero(sc.exceptions, limit); !ok {
			return false
		}
	}
	for _, k := range ec.exceptionCounters {
		if sc.exceptions, ok = k.AppendCounted(sc.exceptions, limit); !ok {
			return false
		}
	}
	return true
}

// usesSharedCache reports whether a decision uses the cache of the base class. An
// exception costs about as much as updating a changed node. If the accumulated cost
// exceeds that of a separate cache, the class gets one.
func (e *Engine) usesSharedCache(ec *equivalenceClass) bool {
	if ec.base == nil || !e.collectExceptions(ec, maxExceptions) {
		return false
	}
	ec.base.lastUsed = e.clock
	end, exceptions := e.index.LogEnd(), int64(len(e.scratch.exceptions))
	if ec.decided {
		ec.exceptionCost = max(0, ec.exceptionCost+exceptions-(end-ec.lastLogPos))
	}
	cacheCost := int64(e.state.NumNodes() / 2)
	if c := ec.cache; c != nil {
		lag := end - c.logPos
		if lag <= e.maxLag() {
			cacheCost = lag
		}
		if lag <= exceptions {
			return false
		}
	}
	if ec.exceptionCost > cacheCost {
		ec.exceptionCost = 0
		return false
	}
	ec.lastLogPos, ec.lastClock, ec.decided = end, e.clock, true
	return true
}

// setDefaults completes a bucket of the base class with the values that nodes without an
// exception have for the class.
func (ec *equivalenceClass) setDefaults(b *nodeBucket) {
	b.key[slotImages], b.key[slotFlags], b.key[slotAffinityScore] = 0, ec.defaultFlags, 0
	for i := range ec.countSlots {
		b.key[ec.countSlots[i].slot] = ec.countSlots[i].present
	}
}

// applyExceptions moves the exception nodes from the cache of the base class to separate
// buckets.
func (e *Engine) applyExceptions(c *scoreCache, ec *equivalenceClass) {
	sc := &e.scratch
	sc.index.clear()
	sc.buckets, sc.savedRefs = sc.buckets[:0], sc.savedRefs[:0]
	ranks, _, _ := e.index.Ranks()
	var key bucketKey
	for _, id := range sc.exceptions {
		ref := c.refs[id]
		sc.savedRefs = append(sc.savedRefs, ref)
		if ref == 0 || ref&refFailed != 0 {
			continue
		}
		c.remove(ref, ranks[id])
		c.refs[id] = 0
		ec.readKey(id, &key)
		sc.buckets[sc.bucketOf(&key, ec.usedSlots)].offer(id, ref.score(), e.distance(ranks[id]))
	}
}

// revertExceptions reverts applyExceptions.
func (e *Engine) revertExceptions(c *scoreCache) {
	sc := &e.scratch
	ranks, _, _ := e.index.Ranks()
	for i, id := range sc.exceptions {
		if ref := sc.savedRefs[i]; ref != 0 && ref&refFailed == 0 {
			c.refs[id] = c.add(ref.bucket(), ref.score(), ranks[id])
		}
	}
}
