package stats

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxDiskAge is how old figures of a file system may be.
const maxDiskAge = 2 * time.Second

// Disk is a file system by a directory on it; its figures are at most 2 s old.
// It may be used from many goroutines.
type Disk struct {
	mu   sync.Mutex
	dir  string
	last DiskUsage
	err  error
}

// DiskUsage is what a file system has.
type DiskUsage struct {
	At                           time.Time // when it was read
	Capacity, Available, Used    int64     // bytes; available to who is not root
	Inodes, InodesFree, DeviceID int64
}

// NewDisk is the file system that dir is on. The directory may come later.
func NewDisk(dir string) *Disk { return &Disk{dir: dir} }

// Dir is the directory.
func (d *Disk) Dir() string { return d.dir }

// Usage is what the file system had at most 2 s before now.
func (d *Disk) Usage(now time.Time) (DiskUsage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if age := now.Sub(d.last.At); d.last.At.IsZero() || age >= maxDiskAge || age < 0 {
		d.read(now)
	}
	return d.last, d.err
}

// Refresh reads the file system whatever is known, such as after something was
// removed from it.
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
