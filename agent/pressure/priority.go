//go:build linux

package pressure

import "golang.org/x/sys/unix"

// raisePriority gives the calling thread priority over the processes of pods: the lowest
// real-time priority or, if that is not permitted, a niceness of -10. A check takes tens of
// microseconds, and the kernel limits the share of real-time threads.
func raisePriority() {
	realtime := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	if unix.SchedSetAttr(0, &realtime, 0) != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -10)
	}
}
