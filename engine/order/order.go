package order

import "time"

// Min returns the earlier of two times.
func Min(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Max returns the later of two times.
func Max(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Earliest returns the earliest of the times. The zero time means never; it is returned if all times are zero.
func Earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// TrueFirst compares booleans so that true sorts before false.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
