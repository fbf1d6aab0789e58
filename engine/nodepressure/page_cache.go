package nodepressure

import "time"

const (
	// cacheRecheckDelay is when memory that only page cache makes scarce is looked at again where
	// nothing tells whether the cache is in use: longer than a writer's dirty pages
	// pass for active ones (node.md 3.4: some tens of ms).
	cacheRecheckDelay = 100 * time.Millisecond
	// cacheCheckPeriod is the time over which it is seen whether the cache is in use.
	cacheCheckPeriod = time.Second
	// stallDivisor is the part of that time in which tasks must have been stalled: 1/4. Page
	// cache that is written and dropped stalls them for 7 % of the time at most.
	stallDivisor = 4
	// refaultDivisor is the part of the cache that must have been read again in that time, 1/4,
	// where stalls are not told.
	refaultDivisor = 4
	pageSize       = 4096
)

// pageCacheCheck is about memory that is scarce only if its page cache is in use.
type pageCacheCheck struct {
	since    time.Time // beginning of the present look; zero: there is no doubt
	refaults int64
	stalled  time.Duration
	inUse    bool
}

// checkPageCache looks into whether page cache counts, and how fast memory is used up. wake is
// when to look again.
func (m *Machine) checkPageCache(now time.Time, o *Observation) (wake time.Time) {
	m.forecast.update(now, o, m.config.Options.Forecast)
	if !m.config.Options.ConfirmPageCache || !o.PageCache.Known || !m.onlyPageCache(o) {
		m.cacheCheck = pageCacheCheck{}
		return time.Time{}
	}
	c := &m.cacheCheck
	if c.since.IsZero() {
		c.begin(now, o)
	}
	told := o.PageCache.Refaults >= 0 || o.PageCache.StallTime >= 0
	if !told {
		c.inUse = now.Sub(c.since) >= cacheRecheckDelay
		if c.inUse {
			return time.Time{}
		}
		return c.since.Add(cacheRecheckDelay)
	}
	if passed := now.Sub(c.since); passed >= cacheCheckPeriod {
		c.inUse = c.provesInUse(passed, &o.PageCache)
		c.begin(now, o)
	}
	return c.since.Add(cacheCheckPeriod)
}

func (c *pageCacheCheck) begin(now time.Time, o *Observation) {
	c.since, c.refaults, c.stalled = now, o.PageCache.Refaults, o.PageCache.StallTime
}

// provesInUse says that what was seen since the beginning of the look shows a cache in use.
func (c *pageCacheCheck) provesInUse(passed time.Duration, now *PageCache) bool {
	refaulted := int64(-1)
	if now.Refaults >= 0 && c.refaults >= 0 {
		refaulted = (now.Refaults - c.refaults) * pageSize
	}
	if now.StallTime >= 0 && c.stalled >= 0 {
		return refaulted != 0 && now.StallTime-c.stalled >= passed/stallDivisor
	}
	return refaulted > 0 && refaulted >= now.Active/refaultDivisor*int64(passed/cacheCheckPeriod)
}

// onlyPageCache says that a threshold of memory is passed if page cache counts, and is kept
// if it does not.
func (m *Machine) onlyPageCache(o *Observation) bool {
	for i := range m.config.Thresholds {
		t := &m.config.Thresholds[i]
		stat := &o.Signals[t.Signal]
		if !t.Signal.memory() || !stat.Known {
			continue
		}
		need := t.Value.Of(stat.Capacity).Amount
		if m.thresholds[i].graceElapsed && t.MinReclaim != nil {
			need += t.MinReclaim.Of(stat.Capacity).Amount
		}
		if stat.Available < need && stat.Available+o.PageCache.Active >= need {
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
	if s.memory() && m.config.Options.ConfirmPageCache && o.PageCache.Known && !m.cacheCheck.inUse {
		v += max(o.PageCache.Active-m.forecast.projectedUse, 0)
	}
	return v
}
