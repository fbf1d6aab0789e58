package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Alarm rings soon after a cgroup's usage has crossed a level. It is a hint: it
// may ring for page cache that goes by itself, and it rings once for a
// crossing, not while usage stays. It never misses one upwards.
//
// On version 1 it is an eventfd that the kernel notifies of each level, either
// way. On version 2 it is memory.high at the lowest level, and memory.events:
// above it the kernel reclaims page cache and slows down who allocates.
type Alarm struct {
	how    string
	fd     int
	events int16
	extra  int    // version 1: the usage file, which must stay open
	high   string // version 2: the file memory.high
	at     int64  // what it is set to
	space  [512]byte
}

// Alarm sets one for the cgroup at path, at levels in bytes, ascending.
func (h *Host) Alarm(path string, levels []int64) (*Alarm, error) {
	if len(levels) == 0 {
		return nil, errors.New("an alarm needs a level")
	}
	var a *Alarm
	var err error
	if h.Mode == V2 {
		a, err = h.alarm2(path, levels[0])
	} else {
		a, err = h.alarm1(path, levels)
	}
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: memory alarm: %w", path, err)
	}
	return a, nil
}

func (h *Host) alarm1(path string, levels []int64) (*Alarm, error) {
	dir := h.Dir("memory", path)
	usage, err := unix.Open(filepath.Join(dir, "memory.usage_in_bytes"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(usage)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	a := &Alarm{how: "threshold events of memory.usage_in_bytes", fd: fd, events: unix.POLLIN, extra: usage, at: levels[0]}
	for _, level := range levels {
		line := fmt.Sprintf("%d %d %d", fd, usage, level)
		if err := write(filepath.Join(dir, "cgroup.event_control"), line); err != nil {
			a.Close()
			return nil, fmt.Errorf("cgroup.event_control: %w", err)
		}
	}
	return a, nil
}

func (h *Host) alarm2(path string, level int64) (*Alarm, error) {
	if filepath.Clean("/"+path) == "/" {
		return nil, errors.New("the root has no memory.high")
	}
	dir := h.Dir("memory", path)
	fd, err := unix.Open(filepath.Join(dir, "memory.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	a := &Alarm{how: "memory.high and memory.events", fd: fd, events: unix.POLLPRI, extra: -1, high: filepath.Join(dir, "memory.high")}
	if err := a.Set(level); err != nil {
		a.Close()
		return nil, err
	}
	return a, a.Take()
}

// String says which mechanism it is.
func (a *Alarm) String() string { return a.how }

// Level is the lowest level.
func (a *Alarm) Level() int64 { return a.at }

// Moves says that Set moves the level.
func (a *Alarm) Moves() bool { return a.high != "" }

// Set moves the level of version 2. Where usage is above, the kernel reclaims
// before this returns: do not set it below usage.
func (a *Alarm) Set(level int64) error {
	if a.high == "" {
		return errors.New("version 1's levels do not move; make another alarm")
	}
	if err := write(a.high, strconv.FormatInt(level, 10)); err != nil {
		return fmt.Errorf("memory.high: %w", err)
	}
	a.at = level
	return nil
}

// Poll is what to wait for.
func (a *Alarm) Poll() unix.PollFd { return unix.PollFd{Fd: int32(a.fd), Events: a.events} }

// Take takes note of what rang, so that the next crossing rings again.
func (a *Alarm) Take() error {
	var err error
	if a.high == "" {
		_, err = unix.Read(a.fd, a.space[:8])
	} else {
		_, err = unix.Pread(a.fd, a.space[:], 0)
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("memory alarm: %w", err)
	}
	return nil
}

// Close takes the alarm away; on version 2 memory.high with it.
func (a *Alarm) Close() {
	if a.high != "" {
		_ = write(a.high, "max")
	}
	for _, fd := range []int{a.fd, a.extra} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	a.fd, a.extra = -1, -1
}
