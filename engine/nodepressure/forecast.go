package nodepressure

import "time"

// forecastHorizon is the longest duration of an eviction.
const forecastHorizon = 50 * time.Millisecond

// minRateInterval is the shortest interval between measurements for which a rate is computed.
const minRateInterval = time.Millisecond

// memoryForecast predicts the use of memory, without page cache.
type memoryForecast struct {
	at           time.Time
	free         int64 // bytes unused or in page cache at that time
	rate         int64 // decrease of free in bytes per second before that time
	projectedUse int64 // bytes that will be used within forecastHorizon
	exhausted    bool  // projectedUse exceeds free
}

// update adds a measurement. The slower rate of the last two intervals counts, because a single step is
// usually the start of a program.
func (f *memoryForecast) update(now time.Time, o *Observation, enabled bool) {
	stat := &o.Signals[MemoryAvailable]
	if !enabled || !stat.Known || !o.PageCache.Known {
		*f = memoryForecast{}
		return
	}
	at := stat.Time
	if at.IsZero() {
		at = now
	}
	free := stat.Available + o.PageCache.Active
	elapsed := at.Sub(f.at)
	switch {
	case f.at.IsZero() || elapsed < 0:
		*f = memoryForecast{at: at, free: free}
		return
	case elapsed < minRateInterval:
		return
	}
	rate := perSecond(f.free-free, elapsed)
	f.projectedUse = int64(forecastHorizon/time.Millisecond) * (max(min(rate, f.rate), 0) / 1000)
	*f = memoryForecast{at: at, free: free, rate: rate, projectedUse: f.projectedUse, exhausted: f.projectedUse > 0 && f.projectedUse >= free}
}

// perSecond returns bytes per second. It computes in microseconds, so that no realistic amount
// overflows.
func perSecond(bytes int64, elapsed time.Duration) int64 {
	us := max(elapsed.Microseconds(), 1)
	const second = 1_000_000
	return bytes/us*second + bytes%us*second/us
}
