package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// busy is the processor time that the calling thread has taken.
func busy() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return wall()
	}
	return time.Duration(ts.Nano())
}
