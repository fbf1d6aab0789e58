package nodepressure

import "time"

const (
	// cacheRecheckDelay is the delay of the second check of memory pressure that page cache alone causes. It applies if
	// the kernel does not report whether the cache is in use. It is longer than the time for which the dirty pages of a
	// writer count as active.
	cacheRecheckDelay = 100 * time.Millisecond
	// cacheCheckPeriod is the period over which use of the page cache is measured.
	cacheCheckPeriod = time.Second
	// stallDivisor determines the minimum stall time of tasks for cache in use: 1/stallDivisor of the period. Page
	// cache that is only written stalls tasks for 7 % of the time at most.
	stallDivisor = 4
	// refaultDivisor determines the minimum size of refaulted pages in the period if stalls are not reported:
	// 1/refaultDivisor of the active cache.
	refaultDivisor = 4
	pageSize       = 4096
)

// pageCacheCheck checks whether page cache that causes memory pressure is in use.
type pageCacheCheck struct {
	since    time.Time // start of the current check; zero: no check runs
	refaults int64
	stalled  time.Duration
	inUse    bool
}

// checkPageCache updates the page cache check and the memory forecast. wake is when to check again.
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
	reported := o.PageCache.Refaults >= 0 || o.PageCache.StallTime >= 0
	if !reported {
		c.inUse = now.Sub(c.since) >= cacheRecheckDelay
		if c.inUse {
			return time.Time{}
		}
		return c.since.Add(cacheRecheckDelay)
	}
	if elapsed := now.Sub(c.since); elapsed >= cacheCheckPeriod {
		c.inUse = c.showsUse(elapsed, &o.PageCache)
		c.begin(now, o)
	}
	return c.since.Add(cacheCheckPeriod)
}

func (c *pageCacheCheck) begin(now time.Time, o *Observation) {
	c.since, c.refaults, c.stalled = now, o.PageCache.Refaults, o.PageCache.StallTime
}

// showsUse reports whether the statistics since the start of the check show that the cache is in use.
func (c *pageCacheCheck) showsUse(elapsed time.Duration, current *PageCache) bool {
	refaulted := int64(-1)
	if current.Refaults >= 0 && c.refaults >= 0 {
		refaulted = (current.Refaults - c.refaults) * pageSize
	}
	if current.StallTime >= 0 && c.stalled >= 0 {
		return refaulted != 0 && current.StallTime-c.stalled >= elapsed/stallDivisor
	}
	return refaulted > 0 && refaulted >= current.Active/refaultDivisor*int64(elapsed/cacheCheckPeriod)
}

// onlyPageCache reports whether a memory threshold is met only if page cache counts as used.
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

// available returns the amount that thresholds are compared with: the signal's available amount plus page
// cache that is not in use. Page cache that growing memory use will displace before an eviction completes does
// not count.
func (m *Machine) available(s Signal, o *Observation) int64 {
	v := o.Signals[s].Available
	if s.memory() && m.config.Options.ConfirmPageCache && o.PageCache.Known && !m.cacheCheck.inUse {
		v += max(o.PageCache.Active-m.forecast.projectedUse, 0)
	}
	return v
}
