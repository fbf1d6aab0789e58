package pressure

import "time"

// horizon is how far memory is foretold: the time that an eviction takes at worst.
const horizon = 50 * time.Millisecond

// shortest is the shortest time between two figures from which a rate is taken.
const shortest = time.Millisecond

// growth is how fast memory other than page cache is used up.
type growth struct {
	at       time.Time
	free     int64 // at that time: bytes that are not used, or are page cache
	rate     int64 // bytes a second by which it fell before that
	soon     int64 // bytes that will be used up within horizon
	exhausts bool  // nothing is left then
}

// follow takes in a figure. Only a fall that has lasted for two figures counts, by the slower
// of both: a single step is a program that has begun.
func (g *growth) follow(now time.Time, o *Observation, on bool) {
	stat := &o.Signals[MemoryAvailable]
	if !on || !stat.Known || !o.Cache.Known {
		*g = growth{}
		return
	}
	at := stat.Time
	if at.IsZero() {
		at = now
	}
	free := stat.Available + o.Cache.Active
	passed := at.Sub(g.at)
	switch {
	case g.at.IsZero() || passed < 0:
		*g = growth{at: at, free: free}
		return
	case passed < shortest:
		return
	}
	rate := perSecond(g.free-free, passed)
	g.soon = int64(horizon/time.Millisecond) * (max(min(rate, g.rate), 0) / 1000)
	*g = growth{at: at, free: free, rate: rate, soon: g.soon, exhausts: g.soon > 0 && g.soon >= free}
}

// perSecond is bytes a second, of bytes in a time; counted in microseconds so that no
// machine's memory overflows it.
func perSecond(bytes int64, in time.Duration) int64 {
	us := max(in.Microseconds(), 1)
	const second = 1_000_000
	return bytes/us*second + bytes%us*second/us
}
