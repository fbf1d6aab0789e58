//go:build !linux

package bench

import "time"

// threadCPUTime returns wall-clock time where CPU time is not available.
func threadCPUTime() time.Duration { return wallClock() }
