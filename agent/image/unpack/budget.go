package unpack

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Size is the disk usage of a layer: whole blocks for files, one block per directory.
type Size struct {
	Bytes  int64 `json:"bytes"`
	Inodes int64 `json:"inodes"`
}

// blockSize is the disk usage of the smallest file.
const blockSize = 4096

// maxNameBytes bounds the total length of directory names, which are kept in memory for their
// times.
const maxNameBytes = 64 << 20

// ErrTooLarge means that an image exceeds a limit.
var ErrTooLarge = errors.New("image is too large")

// Budget is the remaining size for all layers of an image. It is safe for concurrent use.
type Budget struct {
	mu         sync.Mutex
	limit      Size
	remaining  Size
	dir        string // on the disk being filled
	minFree    int64  // bytes to leave free
	sinceCheck int64  // bytes charged since the disk was checked
}

// NewBudget returns a budget of limit below dir that leaves minFree bytes of the disk free.
func NewBudget(limit Size, dir string, minFree int64) *Budget {
	return &Budget{limit: limit, remaining: limit, dir: dir, minFree: minFree, sinceCheck: checkInterval}
}

// checkInterval is the number of bytes between checks of the disk.
const checkInterval = 16 << 20

// charge reduces the budget. It returns an error if the budget is exceeded or the disk has too little
// free space.
func (b *Budget) charge(s Size) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remaining.Bytes = max(b.remaining.Bytes-s.Bytes, -1) // or concurrent layers could overflow it
	b.remaining.Inodes = max(b.remaining.Inodes-s.Inodes, -1)
	if b.remaining.Bytes < 0 {
		return fmt.Errorf("%w: more than %d bytes unpacked", ErrTooLarge, b.limit.Bytes)
	}
	if b.remaining.Inodes < 0 {
		return fmt.Errorf("%w: more than %d files, directories and links", ErrTooLarge, b.limit.Inodes)
	}
	if b.sinceCheck += s.Bytes + s.Inodes*blockSize; b.sinceCheck < checkInterval {
		return nil
	}
	b.sinceCheck = 0
	var fs unix.Statfs_t
	if err := unix.Statfs(b.dir, &fs); err != nil {
		return fmt.Errorf("disk of %s: %w", b.dir, err)
	}
	if free := int64(fs.Bavail) * fs.Bsize; free-s.Bytes < b.minFree+checkInterval { // s is not written yet
		return fmt.Errorf("%w: %d bytes of the disk are free, %d must remain free", ErrTooLarge, free, b.minFree)
	}
	return nil
}
