package cluster

// DomainCounter counts the matching pods on the eligible nodes of each topology domain.
type DomainCounter struct {
	Match Matcher
	// Topology defines the domains.
	Topology *Topology
	// Eligible excludes nodes with value 0; nil excludes none.
	Eligible *NodeValues
	// Counts is the number of pods by domain ID.
	Counts []int32
	// Total is the sum of Counts.
	Total int64

	index    *Index
	nonzero  intSet  // domains with pods
	trackMin bool    // Min is used, so the fields below are maintained
	eligible []int32 // number of eligible nodes by domain ID
	domains  int     // number of domains with eligible nodes
	// hist is the number of domains with eligible nodes by count; nil if Min is not used or
	// there are few domains.
	hist []int32
	low  int // no domain has a lower count; valid if hist is not nil
}

// CounterKey returns the name of a counter for Index.Counter. key is the topology key, and eligible the name of
// the NodeValues that exclude nodes, or "".
func CounterKey(key, eligible string, m *Matcher) string {
	b := make([]byte, 0, 128)
	b = AppendText(b, key)
	b = AppendText(b, eligible)
	if m.SkipDeleting {
		b = append(b, '!')
	}
	for i := range m.Terms {
		b = AppendTerm(append(b, '&'), &m.Terms[i])
	}
	return string(b)
}

// Counter returns the counter with a name from CounterKey, creating it if necessary. key is the
// topology key. eligible may be nil. trackMin enables DomainCounter.Min.
func (x *Index) Counter(name, key string, eligible *NodeValues, m Matcher, trackMin bool) *DomainCounter {
	c := x.counters[name]
	if c == nil {
		c = x.newCounter(key, eligible, m)
		x.counters[name] = c
		x.bytes += keyCost * len(name)
		x.counterList = append(x.counterList, c)
		pairs, unkeyed := requiredLabels(m.Terms)
		x.counterRegistry.add(c, pairs, unkeyed)
	}
	if trackMin && !c.trackMin {
		c.trackMin = true
		x.countEligible(c)
	}
	return c
}

// eligibleKey is what the number of eligible nodes by domain depends on.
type eligibleKey struct {
	topology *Topology
	eligible *NodeValues
}

// countEligible counts the eligible nodes by domain, or copies the counts of a counter
// with the same eligibleKey.
func (x *Index) countEligible(c *DomainCounter) {
	key := eligibleKey{c.Topology, c.Eligible}
	existing := x.byEligible[key]
	if existing == nil {
		x.byEligible[key] = c
		for _, id := range x.state.NodeIDs() {
			c.updateEligible(id, 1)
		}
		return
	}
	if n := len(existing.eligible); n > 0 {
		c.grow(int32(n - 1))
		copy(c.eligible, existing.eligible)
	}
	c.domains = existing.domains
}

func (x *Index) newCounter(key string, eligible *NodeValues, m Matcher) *DomainCounter {
	for i := range m.Terms {
		x.trackTerm(&m.Terms[i])
	}
	c := &DomainCounter{Match: m, Topology: x.Topology(key), Eligible: eligible, index: x}
	x.visitClasses(m.Terms, func(cl *PodClass) {
		if !x.matches(&m, cl) {
			return
		}
		cl.counters = append(cl.counters, c)
		for id, n := range cl.byNode { // sums; the order does not matter
			if !m.SkipDeleting {
				n.active += n.deleting
			}
			c.add(id, n.active)
		}
	})
	return c
}

// OnNode returns the count in the domain of a node, 0 if the node is in none.
func (c *DomainCounter) OnNode(id NodeID) int32 { return c.InDomain(c.Topology.DomainOf[id]) }

// InDomain returns the count in a domain.
func (c *DomainCounter) InDomain(domain int32) int32 {
	if int(domain) >= len(c.Counts) {
		return 0
	}
	return c.Counts[domain]
}

// grow extends the slices to include a domain.
func (c *DomainCounter) grow(domain int32) {
	size := max(int(domain)+1, len(c.Topology.names))
	if int(domain) >= len(c.Counts) {
		c.index.bytes += 4 * (size - len(c.Counts))
		c.Counts = append(c.Counts, make([]int32, size-len(c.Counts))...)
	}
	if c.trackMin && int(domain) >= len(c.eligible) {
		c.index.bytes += 4 * (size - len(c.eligible))
		c.eligible = append(c.eligible, make([]int32, size-len(c.eligible))...)
	}
}

// AppendCounted appends to dst the nodes of all domains with a nonzero count. ok is false if the result would exceed
// maxNodes.
func (c *DomainCounter) AppendCounted(dst []NodeID, maxNodes int) (nodes []NodeID, ok bool) {
	if c.nonzero.n > maxNodes { // every counted domain has at least one node
		return dst, false
	}
	ok = c.nonzero.each(func(d int32) bool {
		dst = append(dst, c.Topology.Members[d]...)
		return len(dst) <= maxNodes
	})
	return dst, ok
}

// addOnNode adds pods on a node. In a fine-grained topology it also adds the other nodes of the domain to the change
// log, because their count changes.
func (c *DomainCounter) addOnNode(id NodeID, n int32) {
	if !c.add(id, n) || !c.Topology.FineGrained {
		return
	}
	for _, m := range c.Topology.Members[c.Topology.DomainOf[id]] {
		if m != id {
			c.index.log(m, false)
		}
	}
}

func (c *DomainCounter) add(id NodeID, n int32) bool {
	d := c.Topology.DomainOf[id]
	if n == 0 || d == 0 || (c.Eligible != nil && c.Eligible.Values[id] == 0) {
		return false
	}
	c.grow(d)
	if c.hist != nil && c.eligible[d] > 0 {
		c.updateHistogram(c.Counts[d], -1)
		c.updateHistogram(c.Counts[d]+n, 1)
	}
	c.Counts[d] += n
	c.nonzero.set(d, c.Counts[d] != 0)
	c.Total += int64(n)
	return true
}

// updateEligible adds a node to the eligible nodes of its domain, or removes it. The pods
// of the node must not be counted at that time.
func (c *DomainCounter) updateEligible(id NodeID, sign int32) {
	d := c.Topology.DomainOf[id]
	if d == 0 || !c.trackMin || (c.Eligible != nil && c.Eligible.Values[id] == 0) {
		return
	}
	c.grow(d)
	before := c.eligible[d]
	c.eligible[d] += sign
	switch {
	case before == 0:
		c.domains++
	case c.eligible[d] == 0:
		c.domains--
	default:
		return
	}
	if c.hist != nil {
		c.updateHistogram(c.Counts[d], sign)
	}
}

func (c *DomainCounter) updateHistogram(count, sign int32) {
	for len(c.hist) <= int(count) {
		c.hist = append(c.hist, 0)
	}
	c.hist[count] += sign
	if sign > 0 && int(count) < c.low {
		c.low = int(count)
	}
}

// Min returns the smallest count over the domains that have eligible nodes, and the number
// of these domains; zeros if there are none.
func (c *DomainCounter) Min() (least int32, domains int) {
	if c.domains == 0 {
		return 0, 0
	}
	if c.domains <= c.index.thresholds.manyDomains {
		c.hist = nil
		least = 1<<31 - 1
		for d, n := range c.eligible {
			if n > 0 {
				least = min(least, c.Counts[d])
			}
		}
		return least, c.domains
	}
	if c.hist == nil {
		c.hist, c.low = []int32{}, 0
		for d, n := range c.eligible {
			if n > 0 {
				c.updateHistogram(c.Counts[d], 1)
			}
		}
	}
	for c.hist[c.low] == 0 {
		c.low++
	}
	return int32(c.low), c.domains
}
