package nodepressure

import "time"

// forecastHorizon is the longest duration of an eviction.
const forecastHorizon = 50 * time.Millisecond

// minRateInterval is the shortest interval between figures for which a rate is computed.
const minRateInterval = time.Millisecond

// memoryForecast predicts the use of memory other than page cache.
type memoryForecast struct {
	at           time.Time
	free         int64 // bytes unused or in page cache, at that time
	rate         int64 // bytes per second by which it fell before that
	projectedUse int64 // bytes that will be used within forecastHorizon
	exhausted    bool  // projectedUse exceeds free
}

// update adds a figure. The slower rate of the last two intervals counts, because a single step is
// a program that has just started.
func (g *memoryForecast) update(now time.Time, o *Observation, on bool) {
	stat := &o.Signals[MemoryAvailable]
	if !on || !stat.Known || !o.PageCache.Known {
		*g = memoryForecast{}
		return
	}
	at := stat.Time
	if at.IsZero() {
		at = now
	}
	free := stat.Available + o.PageCache.Active
	passed := at.Sub(g.at)
	switch {
	case g.at.IsZero() || passed < 0:
		*g = memoryForecast{at: at, free: free}
		return
	case passed < minRateInterval:
		return
	}
	rate := perSecond(g.free-free, passed)
	g.projectedUse = int64(forecastHorizon/time.Millisecond) * (max(min(rate, g.rate), 0) / 1000)
	*g = memoryForecast{at: at, free: free, rate: rate, projectedUse: g.projectedUse, exhausted: g.projectedUse > 0 && g.projectedUse >= free}
}

// perSecond returns bytes per second. It computes in microseconds, so that no realistic amount
// overflows.
func perSecond(bytes int64, in time.Duration) int64 {
	us := max(in.Microseconds(), 1)
	const second = 1_000_000
	return bytes/us*second + bytes%us*second/us
}
