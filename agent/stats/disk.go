package stats

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxDiskAge is the maximum age of cached disk usage.
const maxDiskAge = 2 * time.Second

// Disk is a file system, identified by a directory on it. It is safe for concurrent use.
type Disk struct {
	mu   sync.Mutex
	dir  string
	last DiskUsage
	err  error
}

// DiskUsage is the usage of a file system.
type DiskUsage struct {
	At                        time.Time // time of the measurement
	Capacity, Available, Used int64     // bytes; Available is that of unprivileged users
	Inodes, InodesFree        int64
	DeviceID                  int64 // f_fsid of statfs: equal for two directories of one file system
}

// NewDisk returns the file system of dir, which need not exist yet.
func NewDisk(dir string) *Disk { return &Disk{dir: dir} }

// Dir returns the directory.
func (d *Disk) Dir() string { return d.dir }

// Usage returns the usage, at most 2 s old.
func (d *Disk) Usage(now time.Time) (DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if age := now.Sub(d.last.At); d.last.At.IsZero() || age >= maxDiskAge || age < 0 {
		d.read(now)
	}
	return d.last, d.err
}

// Refresh returns the current usage.
func (d *Disk) Refresh(now time.Time) (DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read(now)
	return d.last, d.err
}

func (d *Disk) read(now time.Time) {
	var s unix.Statfs_t
	err := unix.Statfs(d.dir, &s)
	for err == unix.EINTR {
		err = unix.Statfs(d.dir, &s)
	}
	if err != nil {
		d.last, d.err = DiskUsage{At: now}, fmt.Errorf("file system of %s: %w", d.dir, err)
		return
	}
	block := s.Frsize
	d.err = nil
	d.last = DiskUsage{
		At: now, Capacity: int64(s.Blocks) * block, Available: int64(s.Bavail) * block, Used: int64(s.Blocks-s.Bfree) * block,
		Inodes: int64(s.Files), InodesFree: int64(s.Ffree), DeviceID: int64(s.Fsid.Val[0])<<32 | int64(uint32(s.Fsid.Val[1])),
	}
}
