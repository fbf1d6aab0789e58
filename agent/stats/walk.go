package stats

import (
	"io/fs"
	"path/filepath"
	"syscall"
)

// Held is what a directory tree holds on disk.
type Held struct{ Bytes, Inodes int64 }

// Walk measures a tree by its blocks, each inode once, on one file system. What
// vanishes meanwhile is not counted; a tree that is not there holds nothing.
func Walk(root string) Held {
	var h Held
	type inode struct{ device, number uint64 }
	linked := map[inode]bool{} // only what has several links can be met twice
	device := uint64(0)
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // of what cannot be read the rest still counts
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		s, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if device == 0 {
			device = uint64(s.Dev)
		}
		if uint64(s.Dev) != device {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if s.Nlink > 1 && !d.IsDir() {
			at := inode{uint64(s.Dev), s.Ino}
			if linked[at] {
				return nil
			}
			linked[at] = true
		}
		h.Bytes += s.Blocks * 512
		h.Inodes++
		return nil
	})
	return h
}
