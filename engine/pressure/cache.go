package pressure

import "time"

const (
	// secondLook is when memory that only page cache makes scarce is looked at again where
	// nothing tells whether the cache is in use: longer than a writer's dirty pages
	// pass for active ones (node.md 3.4: some tens of ms).
	secondLook = 100 * time.Millisecond
	// evidence is the time over which it is seen whether the cache is in use.
	evidence = time.Second
	// stalledShare is the part of that time in which tasks must have been stalled: 1/4. Page
	// cache that is written and dropped stalls them for 7 % of the time at most.
	stalledShare = 4
	// refaultShare is the part of the cache that must have been read again in that time, 1/4,
	// where stalls are not told.
	refaultShare = 4
	pageSize     = 4096
)

// suspicion is about memory that is scarce only if its page cache is in use.
type suspicion struct {
	since    time.Time // beginning of the present look; zero: there is no doubt
	refaults int64
	stalled  time.Duration
	inUse    bool
}

// doubt looks into whether page cache counts, and how fast memory is used up. wake is
// when to look again.
func (m *Machine) doubt(now time.Time, o *Observation) (wake time.Time) {
	m.growth.follow(now, o, m.config.Options.Forecast)
	if !m.config.Options.Confirm || !o.Cache.Known || !m.onlyCache(o) {
		m.cache = suspicion{}
		return time.Time{}
	}
	c := &m.cache
	if c.since.IsZero() {
		c.begin(now, o)
	}
	told := o.Cache.Refaults >= 0 || o.Cache.Stalled >= 0
	if !told {
		c.inUse = now.Sub(c.since) >= secondLook
		if c.inUse {
			return time.Time{}
		}
		return c.since.Add(secondLook)
	}
	if passed := now.Sub(c.since); passed >= evidence {
		c.inUse = c.proved(passed, &o.Cache)
		c.begin(now, o)
	}
	return c.since.Add(evidence)
}

func (c *suspicion) begin(now time.Time, o *Observation) {
	c.since, c.refaults, c.stalled = now, o.Cache.Refaults, o.Cache.Stalled
}

// proved says that what was seen since the beginning of the look shows a cache in use.
func (c *suspicion) proved(passed time.Duration, now *Cache) bool {
	refaulted := int64(-1)
	if now.Refaults >= 0 && c.refaults >= 0 {
		refaulted = (now.Refaults - c.refaults) * pageSize
	}
	if now.Stalled >= 0 && c.stalled >= 0 {
		return refaulted != 0 && now.Stalled-c.stalled >= passed/stalledShare
	}
	return refaulted > 0 && refaulted >= now.Active/refaultShare*int64(passed/evidence)
}

// onlyCache says that a threshold of memory is passed if page cache counts, and is kept
// if it does not.
func (m *Machine) onlyCache(o *Observation) bool {
	for i := range m.config.Thresholds {
		t := &m.config.Thresholds[i]
		stat := &o.Signals[t.Signal]
		if !t.Signal.memory() || !stat.Known {
			continue
		}
		need := t.Value.Of(stat.Capacity).Amount
		if m.states[i].held && t.MinReclaim != nil {
			need += t.MinReclaim.Of(stat.Capacity).Amount
		}
		if stat.Available < need && stat.Available+o.Cache.Active >= need {
			return true
		}
	}
	return false
}

// available is what thresholds are compared with: the signal's figure, and page cache that is
// not in use, but for what growing memory will have taken of it before an eviction is done:
// to wait until it has would only be late.
func (m *Machine) available(s Signal, o *Observation) int64 {
	v := o.Signals[s].Available
	if s.memory() && m.config.Options.Confirm && o.Cache.Known && !m.cache.inUse {
		v += max(o.Cache.Active-m.growth.soon, 0)
	}
	return v
}
