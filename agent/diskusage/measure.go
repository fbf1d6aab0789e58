package diskusage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Usage is the disk usage of a directory tree.
type Usage struct{ Bytes, Inodes int64 }

// Measure returns the blocks and inodes of a tree on one file system. It counts each inode once,
// whatever its number of links, and never leaves the tree, even if a directory is replaced by a
// link during the walk. It skips entries that disappear. If entries cannot be read, it counts the
// rest and returns the first error. It returns fs.ErrNotExist if dir does not exist.
func Measure(dir string) (h Usage, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return h, err
	}
	defer root.Close()
	m := walker{root: root, hardLinked: map[uint64]bool{}}
	for m.pending = []string{"."}; len(m.pending) > 0; {
		last := len(m.pending) - 1
		dir := m.pending[last]
		m.pending = m.pending[:last]
		m.visitDir(dir)
	}
	return m.usage, m.err
}

// MeasureFile returns the blocks of a file. A file that cannot be read counts as empty.
func MeasureFile(path string) Usage {
	var s syscall.Stat_t
	if err := syscall.Lstat(path, &s); err != nil {
		return Usage{}
	}
	return Usage{Bytes: s.Blocks * 512, Inodes: 1}
}

// readDirBatch is the number of directory entries read at a time, since a directory may have
// millions.
const readDirBatch = 1024

// walker is the state of a measurement.
type walker struct {
	root       *os.Root
	pending    []string        // directories to visit
	hardLinked map[uint64]bool // inodes with several links that are already counted
	device     uint64          // of the tree; 0: not known yet
	usage      Usage
	err        error
}

func (m *walker) recordError(err error) {
	if m.err == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
		m.err = err
	}
}

// visitDir counts a directory and its files, unless it is on another file system.
func (m *walker) visitDir(dir string) {
	f, err := m.root.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		m.recordError(err)
		return
	}
	defer f.Close()
	own, err := f.Stat()
	if err != nil {
		m.recordError(err)
		return
	}
	if !m.count(own) {
		return
	}
	for {
		entries, err := f.ReadDir(readDirBatch)
		for _, e := range entries {
			if e.IsDir() {
				m.pending = append(m.pending, path.Join(dir, e.Name()))
				continue
			}
			info, err := e.Info()
			if err != nil {
				m.recordError(err)
				continue
			}
			m.count(info)
		}
		if err != nil || len(entries) == 0 {
			m.recordError(err)
			return
		}
	}
}

// count counts an inode and reports whether it is on the tree's file system.
func (m *walker) count(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if m.device == 0 {
		m.device = uint64(s.Dev)
	}
	if uint64(s.Dev) != m.device {
		return false
	}
	if s.Nlink > 1 && !info.IsDir() {
		if m.hardLinked[s.Ino] {
			return true
		}
		m.hardLinked[s.Ino] = true
	}
	m.usage.Bytes += s.Blocks * 512
	m.usage.Inodes++
	return true
}
