package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Held is what a directory tree holds.
type Held struct{ Bytes, Inodes int64 }

// Measure measures a tree by its blocks, each inode once however many names it has, on one file system. Whoever writes there can lead it nowhere
// else: it follows no links, also not those that take the place of a directory meanwhile. What goes while it looks is not counted, of what cannot be read the
// rest is, and the first such error is returned; a tree that is not there is fs.ErrNotExist.
func Measure(dir string) (h Held, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return h, err
	}
	defer root.Close()
	m := measuring{root: root, linked: map[uint64]bool{}}
	for m.rest = []string{"."}; len(m.rest) > 0; {
		last := len(m.rest) - 1
		dir := m.rest[last]
		m.rest = m.rest[:last]
		m.look(dir)
	}
	return m.held, m.failed
}

// chunk is how many entries of a directory are held at a time: whoever writes there may put a million into one.
const chunk = 1024

// measuring is a tree that is being measured.
type measuring struct {
	root   *os.Root
	rest   []string        // directories that are still to be looked into
	linked map[uint64]bool // by inode: only what has several names can be met twice
	device uint64          // of the tree; 0: not known yet
	held   Held
	failed error
}

func (m *measuring) note(err error) {
	if m.failed == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
		m.failed = err
	}
}

// look counts a directory, unless it is another file system, and what is in it that is none.
func (m *measuring) look(dir string) {
	f, err := m.root.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		m.note(err)
		return
	}
	defer f.Close()
	own, err := f.Stat()
	if err != nil {
		m.note(err)
		return
	}
	if !m.count(own) {
		return
	}
	for {
		entries, err := f.ReadDir(chunk)
		for _, e := range entries {
			if e.IsDir() {
				m.rest = append(m.rest, path.Join(dir, e.Name()))
				continue
			}
			info, err := e.Info()
			if err != nil {
				m.note(err)
				continue
			}
			m.count(info)
		}
		if err != nil || len(entries) == 0 {
			m.note(err)
			return
		}
	}
}

// count counts an inode, and says whether it is of this file system.
func (m *measuring) count(info fs.FileInfo) bool {
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
		if m.linked[s.Ino] {
			return true
		}
		m.linked[s.Ino] = true
	}
	m.held.Bytes += s.Blocks * 512
	m.held.Inodes++
	return true
}
