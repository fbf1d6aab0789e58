package workload

import "time"

// EarliestRequeue returns the shorter of requeueAfter and the time from now until wake. A requeueAfter of 0 and a zero
// wake mean none. If there is neither, it returns 0.
func EarliestRequeue(now time.Time, requeueAfter time.Duration, wake time.Time) time.Duration {
	if wake.IsZero() {
		return requeueAfter
	}
	if d := max(wake.Sub(now), time.Millisecond); requeueAfter == 0 || d < requeueAfter {
		return d
	}
	return requeueAfter
}
