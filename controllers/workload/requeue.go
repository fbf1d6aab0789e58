package workload

import "time"

// EarliestRequeue returns the time from now until the earlier of requeueAfter (0: none) and wake (zero: none), or 0 if there
// is neither.
func EarliestRequeue(now time.Time, requeueAfter time.Duration, wake time.Time) time.Duration {
	if wake.IsZero() {
		return requeueAfter
	}
	if d := max(wake.Sub(now), time.Millisecond); requeueAfter == 0 || d < requeueAfter {
		return d
	}
	return requeueAfter
}
