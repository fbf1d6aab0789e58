package diskusage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Usage is what a directory tree holds.
type Usage struct{ Bytes, Inodes int64 }

// Measure measures a tree by its blocks, each inode once however many names it has, on one file system. Whoever writes there can lead it nowhere
// else: it follows no links, also not those that take the place of a directory meanwhile. What goes while it looks is not counted, of what cannot be read the
// rest is, and the first such error is returned; a tree that is not there is fs.ErrNotExist.
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

// readDirBatch is how many entries of a directory are held at a time: whoever writes there may put a million into one.
const readDirBatch = 1024

// walker is a tree that is being measured.
type walker struct {
	root       *os.Root
	pending    []string        // directories that are still to be looked into
	hardLinked map[uint64]bool // by inode: only what has several names can be met twice
	device     uint64          // of the tree; 0: not known yet
	usage      Usage
	err        error
}

func (m *walker) recordError(err error) {
	if m.err == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
		m.err = err
	}
}

// visitDir counts a directory, unless it is another file system, and what is in it that is none.
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

// count counts an inode, and says whether it is of this file system.
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
