package queue

import "time"

// backoffWindow is the granularity at which backoff ends. Pods whose backoff ends in the same second are ordered by
// priority, not by the exact time.
const backoffWindow = time.Second

// backoffDuration returns how long a pod backs off: initial*2^(n-1), at most max, where n
// is the number of consecutive errors, or else of rejections.
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

// startBackoff sets the window in which the backoff of e ends. It reports whether that is
// in the future.
func (c *Config) startBackoff(e *entry, now time.Time) bool {
	d := c.backoffDuration(e)
	if d == 0 {
		return false
	}
	e.window = e.timestamp.Add(d).Truncate(backoffWindow)
	return now.Before(e.window.Add(backoffWindow))
}
