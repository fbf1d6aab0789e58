//go:build linux

package pressure

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berthproject/berth/agent/cgroup"
)

// waiter waits for the alarm, a timeout or a wake-up.
type waiter struct {
	mu        sync.Mutex // guards waker
	waker     int        // eventfd, or -1 when closed
	alarm     *cgroup.MemoryNotifier
	path      string // cgroup of the alarm
	fds       [2]unix.PollFd
	buffer    [8]byte
	lastAlarm time.Time // when the alarm last fired
}

// minAlarmInterval is the minimum time between two checks that alarms trigger.
const minAlarmInterval = 2 * time.Millisecond

func (w *waiter) open() error {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("creating an eventfd: %w", err)
	}
	w.waker = fd
	w.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	w.fds[1] = unix.PollFd{Fd: -1}
	return nil
}

// set replaces the alarm.
func (w *waiter) set(path string, a *cgroup.MemoryNotifier) {
	if w.alarm != nil {
		w.alarm.Close()
	}
	w.alarm, w.path = a, path
	w.fds[1] = unix.PollFd{Fd: -1}
	if a != nil {
		w.fds[1] = a.PollFD()
	}
}

// wake ends the wait. It may be called from any goroutine.
func (w *waiter) wake() {
	one := [8]byte{1}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waker >= 0 {
		_, _ = unix.Write(w.waker, one[:])
	}
}

// wait blocks for at most d and returns the trigger that ended it.
func (w *waiter) wait(d time.Duration) (trigger string, err error) {
	w.fds[0].Revents, w.fds[1].Revents = 0, 0
	ms := int((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
	n, err := unix.Poll(w.fds[:], ms)
	switch {
	case errors.Is(err, unix.EINTR):
		return byClock, nil
	case err != nil:
		time.Sleep(max(d, 10*time.Millisecond)) // keep polling
		return byClock, fmt.Errorf("waiting for the alarm: %w", err)
	case n == 0:
		return byClock, nil
	}
	if w.fds[0].Revents != 0 {
		_, _ = unix.Read(int(w.fds[0].Fd), w.buffer[:])
		trigger = byWake
	}
	if w.fds[1].Revents == 0 || w.alarm == nil {
		return trigger, nil
	}
	if remaining := minAlarmInterval - time.Since(w.lastAlarm); remaining > 0 {
		time.Sleep(remaining)
	}
	w.lastAlarm = time.Now()
	return byAlarm, w.alarm.Acknowledge()
}

func (w *waiter) close() {
	w.set("", nil)
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = unix.Close(w.waker)
	w.waker = -1
}
