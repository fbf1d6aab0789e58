package workload

import "time"

// EarliestRequeue is how long until the first of a pause (0: none) and a time (zero: none); 0 if there is neither.
func EarliestRequeue(requeueAfter time.Duration, wake time.Time) time.Duration {
	if wake.IsZero() {
		return requeueAfter
	}
	if d := max(time.Until(wake), time.Millisecond); requeueAfter == 0 || d < requeueAfter {
		return d
	}
	return requeueAfter
}
