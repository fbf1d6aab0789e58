package loopdisk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/diskfs/go-diskfs/backend/file"
	"github.com/diskfs/go-diskfs/filesystem/ext4"
	"golang.org/x/sys/unix"
)

const (
	// MinSize is the size in bytes of the smallest disk.
	MinSize = 1 << 20
	// minJournal is the size in bytes from which a disk has a journal. It would fill smaller disks.
	minJournal = 16 << 20
	blockSize  = 4096
	sectorSize = 512
	// largeDisk is the size in bytes from which a disk has fewer inodes per byte, because creating
	// inodes takes time.
	largeDisk = 16 << 30
)

// ErrUnsupported means that the file system of the file cannot reserve blocks.
var ErrUnsupported = errors.New("file system cannot reserve blocks")

// RoundSize returns the size of the disk that Create creates for a requested size, both in bytes.
func RoundSize(size int64) int64 {
	return max(size+blockSize-1, MinSize) / blockSize * blockSize
}

// Create creates a file of RoundSize(size) bytes with an empty ext4 file system, whose root is
// world-writable. The file appears when it is complete.
func Create(path string, size int64) (err error) {
	size = RoundSize(size)
	f, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	err = reserve(f, size)
	if err == nil {
		err = format(f, size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("creating a disk of %d bytes in %s: %w", size, path, err)
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// reserve allocates the blocks of the file.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	}
	if errors.Is(err, unix.EOPNOTSUPP) {
		return ErrUnsupported
	}
	return err
}

// format creates an ext4 file system in the file.
func format(f *os.File, size int64) error {
	ratio := int64(16 << 10) // bytes per inode
	if size >= largeDisk {
		ratio = 64 << 10
	}
	fs, err := ext4.Create(file.New(f, false), size, 0, 0, &ext4.Params{
		SectorsPerBlock: blockSize / sectorSize, InodeRatio: ratio,
		// The library fails to reserve descriptors for a later growth of small disks.
		Features: []ext4.FeatureOpt{ext4.WithFeatureHasJournal(size >= minJournal), ext4.WithFeatureReservedGDTBlocksForExpansion(false)},
	})
	if err != nil {
		return err
	}
	return fs.Chmod(".", 0o777)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
