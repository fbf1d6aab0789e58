package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// MemoryNotifier signals that a cgroup's memory usage crossed a threshold. It never misses an
// upward crossing. A signal can be spurious: page cache that the kernel can reclaim also counts.
//
// On v1 it is an eventfd with a threshold per level. It signals once per crossing, and not while
// usage stays above the threshold. On v2 it sets memory.high to the lowest level and polls
// memory.events. Above that level the kernel reclaims page cache and throttles allocations, and
// each such reclaim can signal again.
type MemoryNotifier struct {
	mechanism string
	fd        int
	events    int16
	usageFD   int    // v1: memory.usage_in_bytes, which must stay open
	highFile  string // v2: path of memory.high
	level     int64  // lowest threshold
	buf       [512]byte
}

// NewMemoryNotifier watches the memory usage of the cgroup at path. levels are thresholds in
// bytes, in ascending order.
func (h *Host) NewMemoryNotifier(path string, levels []int64) (*MemoryNotifier, error) {
	if len(levels) == 0 {
		return nil, errors.New("memory notifier: at least one level is required")
	}
	var n *MemoryNotifier
	var err error
	if h.Mode == V2 {
		n, err = h.newV2Notifier(path, levels[0])
	} else {
		n, err = h.newV1Notifier(path, levels)
	}
	if err != nil {
		return nil, fmt.Errorf("cgroup %s: memory notifier: %w", path, err)
	}
	return n, nil
}

// newV1Notifier registers the levels, in bytes, for events on an eventfd.
func (h *Host) newV1Notifier(path string, levels []int64) (*MemoryNotifier, error) {
	dir := h.Dir("memory", path)
	usage, err := unix.Open(filepath.Join(dir, "memory.usage_in_bytes"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening memory.usage_in_bytes: %w", err)
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(usage)
		return nil, fmt.Errorf("creating an eventfd: %w", err)
	}
	n := &MemoryNotifier{mechanism: "threshold events of memory.usage_in_bytes", fd: fd, events: unix.POLLIN, usageFD: usage, level: levels[0]}
	for _, level := range levels {
		line := fmt.Sprintf("%d %d %d", fd, usage, level)
		if err := writeFile(filepath.Join(dir, "cgroup.event_control"), line); err != nil {
			n.Close()
			return nil, fmt.Errorf("cgroup.event_control: %w", err)
		}
	}
	return n, nil
}

// newV2Notifier sets memory.high to level, in bytes, and watches memory.events.
func (h *Host) newV2Notifier(path string, level int64) (*MemoryNotifier, error) {
	if filepath.Clean("/"+path) == "/" {
		return nil, errors.New("the root cgroup has no memory.high")
	}
	dir := h.Dir("memory", path)
	fd, err := unix.Open(filepath.Join(dir, "memory.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening memory.events: %w", err)
	}
	n := &MemoryNotifier{mechanism: "memory.high and memory.events", fd: fd, events: unix.POLLPRI, usageFD: -1, highFile: filepath.Join(dir, "memory.high")}
	if err := n.SetLevel(level); err != nil {
		n.Close()
		return nil, err
	}
	if err := n.Acknowledge(); err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// String returns the kernel mechanism in use, for logs.
func (n *MemoryNotifier) String() string { return n.mechanism }

// Level returns the lowest threshold in bytes.
func (n *MemoryNotifier) Level() int64 { return n.level }

// Adjustable reports whether SetLevel is supported (v2).
func (n *MemoryNotifier) Adjustable() bool { return n.highFile != "" }

// SetLevel changes the threshold on v2. If usage is above level, the kernel reclaims memory
// before the write returns; do not set a level below the usage.
func (n *MemoryNotifier) SetLevel(level int64) error {
	if n.highFile == "" {
		return errors.New("cgroup v1: the level of a memory notifier cannot be changed")
	}
	if err := writeFile(n.highFile, strconv.FormatInt(level, 10)); err != nil {
		return fmt.Errorf("memory.high: %w", err)
	}
	n.level = level
	return nil
}

// PollFD returns the file descriptor and the events to poll for.
func (n *MemoryNotifier) PollFD() unix.PollFd { return unix.PollFd{Fd: int32(n.fd), Events: n.events} }

// Acknowledge resets the notifier, so that the next crossing signals again.
func (n *MemoryNotifier) Acknowledge() error {
	var err error
	if n.highFile == "" {
		_, err = unix.Read(n.fd, n.buf[:8])
	} else {
		_, err = unix.Pread(n.fd, n.buf[:], 0)
	}
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading memory notifications: %w", err)
	}
	return nil
}

// Close removes the notifier and, on v2, resets memory.high.
func (n *MemoryNotifier) Close() {
	if n.highFile != "" {
		_ = writeFile(n.highFile, "max")
	}
	for _, fd := range []int{n.fd, n.usageFD} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	n.fd, n.usageFD = -1, -1
}
