package queue

import "time"

// window is the length of the windows in which back-off ends: pods whose
// back-off ends in the same second are ordered by rank, not by the instant.
const window = time.Second

// backoffDuration is how long a pod backs off: initial*2^(n-1), at most max, n being the
// errors in a row, or else the rejections.
func (c *Config) backoffDuration(e *entry) time.Duration {
	n := e.rejections
	if e.failures > 0 {
		n = e.failures
	}
	if n == 0 || c.InitialBackoff <= 0 {
		return 0
	}
	d := c.InitialBackoff
	for ; n > 1 && d < c.MaxBackoff; n-- {
		d *= 2
	}
	return min(d, c.MaxBackoff)
}

// startBackoff sets the window in which e's back-off ends and says whether it is
// still to come.
func (c *Config) startBackoff(e *entry, now time.Time) bool {
	d := c.backoffDuration(e)
	if d == 0 {
		return false
	}
	e.window = e.timestamp.Add(d).Truncate(window)
	return now.Before(e.window.Add(window))
}
