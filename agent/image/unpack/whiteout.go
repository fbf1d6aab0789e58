package unpack

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Names in a layer that say that something of lower layers is gone.
const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..opq" // less whiteoutPrefix: all of this directory is
)

// opaqueXattr is how overlay is told that nothing of lower directories shows.
const opaqueXattr = "trusted.overlay.opaque"

// whiteout hides removed, a name in dir, of lower layers.
func (l *unpacker) whiteout(dir, removed string) error {
	if removed == opaqueName {
		return l.markOpaqueDir(dir)
	}
	if strings.HasPrefix(removed, whiteoutPrefix) {
		return nil // aufs keeps books under such names
	}
	if removed == "" || removed == "." || removed == ".." {
		return errors.New("it removes nothing that has a name")
	}
	in, err := l.openParent(dir)
	if err != nil {
		return err
	}
	info, err := in.Lstat(removed)
	switch {
	case err == nil && info.IsDir():
		return markOpaque(in, removed) // this layer made it anew
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := l.charge(Size{Inodes: 1}); err != nil {
		return err
	}
	return makeNode(in, removed, unix.S_IFCHR)
}

// markOpaqueDir hides all that lower layers have in dir.
func (l *unpacker) markOpaqueDir(dir string) error {
	if dir == "." {
		l.result.Opaque = true // overlay does not look for the mark on a layer's root
		return nil
	}
	in, err := l.openParent(dir)
	if err != nil {
		return err
	}
	return markOpaque(in, ".")
}

// markOpaque marks a directory as hiding what lower layers have there.
func markOpaque(in *os.Root, name string) error {
	f, err := in.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fsetxattr(int(f.Fd()), opaqueXattr, []byte("y"), 0)
}

// isWhiteout says that a file is a mark of overlay's for what is gone.
func isWhiteout(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == 0
}

// makeNode makes a whiteout or a pipe.
func makeNode(in *os.Root, name string, mode uint32) error {
	f, err := in.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Mknodat(int(f.Fd()), name, mode, 0); err != nil {
		return &os.PathError{Op: "mknod", Path: name, Err: err}
	}
	return nil
}
