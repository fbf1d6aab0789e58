package gc

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ballastBytes is enough for the runtime's database to record removals.
const ballastBytes = 4 << 20

// ballast is a file that reserves disk space. The collector deletes it if the runtime cannot remove
// an image, because a removal needs disk space.
type ballast struct {
	path   string // "" for none
	bytes  int64
	exists bool
}

// create creates the file if twice its size is available. If less is available, it keeps a complete file of a previous
// agent. In all other cases, also on errors, it leaves no file.
func (b *ballast) create() (err error) {
	if b.path == "" || b.exists {
		return nil
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("creating the ballast file: %w", err)
	}
	defer f.Close()
	defer func() {
		if !b.exists {
			err = errors.Join(err, os.Remove(b.path))
		}
	}()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return fmt.Errorf("ballast %s: %w", b.path, err)
	}
	if int64(fs.Bavail)*fs.Frsize < 2*b.bytes {
		info, err := f.Stat()
		b.exists = err == nil && info.Size() == b.bytes // created by a previous agent
		return nil
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, b.bytes); err != nil {
		return fmt.Errorf("ballast %s: %w", b.path, err)
	}
	b.exists = true
	return nil
}

// remove deletes the file and reports whether it was deleted.
func (b *ballast) remove() bool {
	if !b.exists {
		return false
	}
	b.exists = false
	return os.Remove(b.path) == nil
}
