package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadCPUTime returns the CPU time of the current thread, or the wall-clock time if the kernel does not report it.
func threadCPUTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return wallClock()
	}
	return time.Duration(ts.Nano())
}
