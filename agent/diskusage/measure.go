package diskusage

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Usage is the disk usage of files: the allocated bytes and the number of inodes.
type Usage struct{ Bytes, Inodes int64 }

// Measure returns the allocated bytes and the inodes of a tree on one file system. It counts each inode once, whatever
// its number of links. It never leaves the tree, even if a directory is replaced by a symbolic link during the walk. It
// skips entries that disappear. If entries cannot be read, it counts the others and returns the first error. The error
// matches fs.ErrNotExist if dir does not exist.
func Measure(dir string) (u Usage, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return u, err
	}
	w := walker{hardLinked: map[uint64]bool{}}
	w.push(&base{Root: root}, ".", 0)
	for len(w.pending) > 0 {
		w.visitNext()
	}
	return w.usage, w.err
}

// MeasureFile returns the allocated bytes and the inode of a file. It returns the zero Usage if
// lstat fails.
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
	pending    []pendingDir    // directories to visit
	hardLinked map[uint64]bool // inodes with several links that are already counted
	device     uint64          // st_dev of the tree, 0 before the first directory
	usage      Usage
	err        error
}

// base is an open directory through which pending directories below it are opened. Its last user
// closes it.
type base struct {
	*os.Root
	uses int
}

func (b *base) release() {
	if b.uses--; b.uses == 0 {
		_ = b.Close()
	}
}

// pendingDir is a directory to visit, by its path below a base.
type pendingDir struct {
	base  *base
	path  string
	depth int // below the base
}

// maxDepth is the maximum depth below a base. Opening a path takes time for each of its elements, so
// without new bases the time for nested directories would be quadratic.
const maxDepth = 32

func (w *walker) push(b *base, path string, depth int) {
	b.uses++
	w.pending = append(w.pending, pendingDir{b, path, depth})
}

// visitNext visits one pending directory.
func (w *walker) visitNext() {
	last := len(w.pending) - 1
	next := w.pending[last]
	w.pending = w.pending[:last]
	w.visitDir(next)
	next.base.release()
}

// rebase returns the same directory with a new base if dir is deep. dirInfo describes the directory,
// which may have been replaced in the meantime.
func (w *walker) rebase(dir pendingDir, dirInfo fs.FileInfo) pendingDir {
	if dir.depth < maxDepth {
		return dir
	}
	root, err := dir.base.OpenRoot(dir.path)
	if err != nil {
		w.recordError(err)
		return dir
	}
	if info, err := root.Stat("."); err != nil || !os.SameFile(info, dirInfo) {
		_ = root.Close()
		return dir
	}
	return pendingDir{base: &base{Root: root}, path: "."}
}

func (w *walker) recordError(err error) {
	if w.err == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
		w.err = err
	}
}

// visitDir counts a directory and its files, unless it is on another file system.
func (w *walker) visitDir(dir pendingDir) {
	f, err := dir.base.OpenFile(dir.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		w.recordError(err)
		return
	}
	defer f.Close()
	dirInfo, err := f.Stat()
	if err != nil {
		w.recordError(err)
		return
	}
	if !w.count(dirInfo) {
		return
	}
	dir = w.rebase(dir, dirInfo)
	dir.base.uses++ // release closes a new base that has no subdirectories
	defer dir.base.release()
	for {
		entries, err := f.ReadDir(readDirBatch)
		for _, e := range entries {
			if e.IsDir() {
				w.push(dir.base, path.Join(dir.path, e.Name()), dir.depth+1)
				continue
			}
			info, err := e.Info()
			if err != nil {
				w.recordError(err)
				continue
			}
			w.count(info)
		}
		if err != nil || len(entries) == 0 {
			w.recordError(err)
			return
		}
	}
}

// count adds an inode to the usage and reports whether it is on the tree's file system.
func (w *walker) count(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if w.device == 0 {
		w.device = uint64(s.Dev)
	}
	if uint64(s.Dev) != w.device {
		return false
	}
	if s.Nlink > 1 && !info.IsDir() {
		if w.hardLinked[s.Ino] {
			return true
		}
		w.hardLinked[s.Ino] = true
	}
	w.usage.Bytes += s.Blocks * 512
	w.usage.Inodes++
	return true
}
