package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPUTime is the processor time that the calling thread has taken.
func threadCPUTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return wallClock()
	}
	return time.Duration(ts.Nano())
}
