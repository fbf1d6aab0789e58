package nodepressure

import "time"

// forecastHorizon is how far memory is foretold: the time that an eviction takes at worst.
const forecastHorizon = 50 * time.Millisecond

// minRateInterval is the shortest time between two figures from which a rate is taken.
const minRateInterval = time.Millisecond

// memoryForecast is how fast memory other than page cache is used up.
type memoryForecast struct {
	at           time.Time
	free         int64 // at that time: bytes that are not used, or are page cache
	rate         int64 // bytes a second by which it fell before that
	projectedUse int64 // bytes that will be used up within horizon
	exhausts     bool  // nothing is left then
}

// update takes in a figure. Only a fall that has lasted for two figures counts, by the slower
// of both: a single step is a program that has begun.
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
	*g = memoryForecast{at: at, free: free, rate: rate, projectedUse: g.projectedUse, exhausts: g.projectedUse > 0 && g.projectedUse >= free}
}

// perSecond is bytes a second, of bytes in a time; counted in microseconds so that no
// machine's memory overflows it.
func perSecond(bytes int64, in time.Duration) int64 {
	us := max(in.Microseconds(), 1)
	const second = 1_000_000
	return bytes/us*second + bytes%us*second/us
}
