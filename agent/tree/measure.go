// Package tree measures what directories hold on the disk: volumes, logs, writable layers.
package tree

import (
	"errors"
	"io/fs"
	"os"
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
	linked := map[uint64]bool{} // only what has several names can be met twice
	device := uint64(0)
	var failed error
	note := func(err error) {
		if failed == nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	_ = fs.WalkDir(root.FS(), ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			note(err)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			note(err)
			return nil
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if device == 0 {
			device = uint64(s.Dev)
		}
		switch {
		case uint64(s.Dev) != device && d.IsDir():
			return fs.SkipDir
		case uint64(s.Dev) != device:
			return nil
		case s.Nlink > 1 && !d.IsDir():
			if linked[s.Ino] {
				return nil
			}
			linked[s.Ino] = true
		}
		h.Bytes += s.Blocks * 512
		h.Inodes++
		return nil
	})
	return h, failed
}
