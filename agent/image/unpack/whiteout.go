package unpack

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Names of whiteouts in layers.
const (
	whiteoutPrefix = ".wh."
	opaqueName     = ".wh..opq" // without whiteoutPrefix: hides all of the directory
)

// opaqueXattr marks a directory as opaque for overlayfs.
const opaqueXattr = "trusted.overlay.opaque"

// createWhiteout hides the entry name of dir in lower layers.
func (u *unpacker) createWhiteout(dir, name string) error {
	if name == opaqueName {
		return u.markOpaqueDir(dir)
	}
	if strings.HasPrefix(name, whiteoutPrefix) {
		return nil // aufs metadata
	}
	if name == "" || name == "." || name == ".." {
		return errors.New("whiteout without a valid name")
	}
	parent, err := u.openParent(dir)
	if err != nil {
		return err
	}
	info, err := parent.Lstat(name)
	switch {
	case err == nil && info.IsDir():
		return markOpaque(parent, name) // created by this layer
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := u.charge(Size{Inodes: 1}); err != nil {
		return err
	}
	return makeNode(parent, name, unix.S_IFCHR)
}

// markOpaqueDir hides the content of dir in lower layers.
func (u *unpacker) markOpaqueDir(dir string) error {
	if dir == "." {
		u.result.Opaque = true // overlayfs ignores the attribute on a layer's root
		return nil
	}
	parent, err := u.openParent(dir)
	if err != nil {
		return err
	}
	return markOpaque(parent, ".")
}

// markOpaque sets the opaque attribute of a directory.
func markOpaque(parent *os.Root, name string) error {
	f, err := parent.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fsetxattr(int(f.Fd()), opaqueXattr, []byte("y"), 0)
}

// isWhiteout reports whether a file is an overlayfs whiteout.
func isWhiteout(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && stat.Rdev == 0
}

// makeNode creates a whiteout or a FIFO.
func makeNode(parent *os.Root, name string, mode uint32) error {
	f, err := parent.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Mknodat(int(f.Fd()), name, mode, 0); err != nil {
		return &os.PathError{Op: "mknod", Path: name, Err: err}
	}
	return nil
}
