package unpack

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Size is what a layer takes on disk: its files by whole blocks, and a block for
// each directory.
type Size struct {
	Bytes  int64 `json:"bytes"`
	Inodes int64 `json:"inodes"`
}

// blockSize is what the smallest file takes.
const blockSize = 4096

// maxNameBytes is how many bytes the names of a layer's directories may have together: they are remembered, for
// their times.
const maxNameBytes = 64 << 20

// ErrTooLarge says that an image takes more than it may.
var ErrTooLarge = errors.New("image is too large")

// Budget is what the layers of an image may still take, together. It may be used
// from many goroutines.
type Budget struct {
	mu         sync.Mutex
	limit      Size
	left       Size
	dir        string // on the disk that is filled
	minFree    int64  // bytes of it that stay free
	sinceCheck int64  // bytes and inodes taken since the disk was looked at
}

// NewBudget allows so much, below dir, and leaves spare bytes of its disk free.
func NewBudget(limit Size, dir string, spare int64) *Budget {
	return &Budget{limit: limit, left: limit, dir: dir, minFree: spare, sinceCheck: checkInterval}
}

// checkInterval is how many bytes are written between looks at the disk.
const checkInterval = 16 << 20

// charge takes from the budget, or says what is exceeded.
func (b *Budget) charge(s Size) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left.Bytes = max(b.left.Bytes-s.Bytes, -1) // or layers that come at once could have it wrap around
	b.left.Inodes = max(b.left.Inodes-s.Inodes, -1)
	if b.left.Bytes < 0 {
		return fmt.Errorf("%w: unpacked it has more than %d bytes", ErrTooLarge, b.limit.Bytes)
	}
	if b.left.Inodes < 0 {
		return fmt.Errorf("%w: it has more than %d files, directories and links", ErrTooLarge, b.limit.Inodes)
	}
	if b.sinceCheck += s.Bytes + s.Inodes*blockSize; b.sinceCheck < checkInterval {
		return nil
	}
	b.sinceCheck = 0
	var fs unix.Statfs_t
	if err := unix.Statfs(b.dir, &fs); err != nil {
		return fmt.Errorf("disk of %s: %w", b.dir, err)
	}
	if free := int64(fs.Bavail) * fs.Bsize; free-s.Bytes < b.minFree+checkInterval { // it is yet to be written
		return fmt.Errorf("%w: %d bytes of the disk are free, and %d are to stay so", ErrTooLarge, free, b.minFree)
	}
	return nil
}
