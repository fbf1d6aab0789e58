package workload

import "time"

// Sooner is how long until the first of a pause (0: none) and a time (zero: none); 0 if there is neither.
func Sooner(again time.Duration, wake time.Time) time.Duration {
	if wake.IsZero() {
		return again
	}
	if d := max(time.Until(wake), time.Millisecond); again == 0 || d < again {
		return d
	}
	return again
}
