package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// extract creates the file of a tar header.
func (u *unpacker) extract(h *tar.Header, data io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	if h.Uid < 0 || h.Gid < 0 || int64(h.Uid) >= 1<<32-1 || int64(h.Gid) >= 1<<32-1 {
		return fmt.Errorf("owner %d:%d: IDs must be from 0 to %d", h.Uid, h.Gid, 1<<32-2)
	}
	if name == "." {
		if h.Typeflag != tar.TypeDir {
			return errors.New("the root of an image must be a directory")
		}
		return u.setDirMetadata(u.root, ".", name, h)
	}
	base := path.Base(name)
	if hidden, ok := strings.CutPrefix(base, whiteoutPrefix); ok {
		return u.createWhiteout(path.Dir(name), hidden)
	}
	if (h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock) && strings.HasPrefix(name, "dev/") {
		u.result.Devices++
		return nil
	}
	parent, err := u.openParent(path.Dir(name))
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := u.makeDir(parent, base); err != nil {
			return err
		}
		return u.setDirMetadata(parent, base, name, h)
	case tar.TypeReg:
		return u.createFile(parent, base, h, data)
	case tar.TypeSymlink:
		return u.createSymlink(parent, base, h)
	case tar.TypeLink:
		return u.createHardLink(parent, name, h.Linkname)
	case tar.TypeFifo:
		return u.createFIFO(parent, base, h)
	case tar.TypeChar, tar.TypeBlock:
		return errors.New("device files are not allowed in images; containers have their own /dev")
	}
	return fmt.Errorf("type %q: must be a file, a directory, a link or a FIFO", h.Typeflag)
}

// setDirMetadata sets owner, mode, attributes and time of an existing directory.
func (u *unpacker) setDirMetadata(parent *os.Root, base, name string, h *tar.Header) error {
	if err := parent.Lchown(base, h.Uid, h.Gid); err != nil {
		return err
	}
	if err := parent.Chmod(base, h.FileInfo().Mode()&modeMask); err != nil {
		return err
	}
	if len(h.PAXRecords) > 0 {
		f, err := parent.Open(base)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := u.setXattrs(f, h); err != nil {
			return err
		}
	}
	return u.recordTime(name, h.ModTime)
}

// modeMask contains the mode bits that layers may set.
const modeMask = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// removeExisting removes the file with the name of a new entry.
func (u *unpacker) removeExisting(parent *os.Root, base string) error {
	if _, err := parent.Lstat(base); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return u.remove(parent, base)
}

// createFile creates a regular file with its content, owner, mode, attributes and time.
func (u *unpacker) createFile(parent *os.Root, base string, h *tar.Header, data io.Reader) error {
	if h.Size < 0 {
		return fmt.Errorf("size %d: must not be negative", h.Size)
	}
	// Charge the stated size before writing: a sparse file has no data.
	if err := u.charge(Size{Bytes: (min(h.Size, 1<<62) + blockSize - 1) / blockSize * blockSize, Inodes: 1}); err != nil {
		return err
	}
	if err := u.removeExisting(parent, base); err != nil {
		return err
	}
	f, err := parent.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, data); err != nil {
		return err
	}
	if err := f.Chown(h.Uid, h.Gid); err != nil {
		return err
	}
	if err := f.Chmod(h.FileInfo().Mode() & modeMask); err != nil { // after chown, which clears setuid
		return err
	}
	if err := u.setXattrs(f, h); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return parent.Chtimes(base, h.ModTime, h.ModTime)
}

// createSymlink creates a link. The target can be any path, because only containers resolve it.
func (u *unpacker) createSymlink(parent *os.Root, base string, h *tar.Header) error {
	if h.Linkname == "" || len(h.Linkname) > maxPath {
		return fmt.Errorf("link target has %d bytes: must have 1 to %d", len(h.Linkname), maxPath)
	}
	if err := u.charge(Size{Bytes: blockSize, Inodes: 1}); err != nil {
		return err
	}
	if err := u.removeExisting(parent, base); err != nil {
		return err
	}
	if err := parent.Symlink(h.Linkname, base); err != nil {
		return err
	}
	return parent.Lchown(base, h.Uid, h.Gid)
}

// createHardLink links to a file of the same layer.
func (u *unpacker) createHardLink(parent *os.Root, name, target string) error {
	targetName, err := cleanName(target)
	if err != nil {
		return fmt.Errorf("link to %q: %w", truncateName(target), err)
	}
	info, err := u.root.Lstat(targetName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("link to %q: target is not in this layer", truncateName(target))
	case err != nil:
		return fmt.Errorf("link to %q: %w", truncateName(target), err)
	case info.IsDir() || isWhiteout(info):
		return fmt.Errorf("link to %q: target is not a file", truncateName(target))
	case targetName == name:
		return nil // the entry links to itself
	}
	if err := u.charge(Size{Inodes: 1}); err != nil { // a link uses no inode, but a million links must be rejected too
		return err
	}
	if err := u.removeExisting(parent, path.Base(name)); err != nil {
		return err
	}
	return u.root.Link(targetName, name)
}

func (u *unpacker) createFIFO(parent *os.Root, base string, h *tar.Header) error {
	if err := u.charge(Size{Inodes: 1}); err != nil {
		return err
	}
	if err := u.removeExisting(parent, base); err != nil {
		return err
	}
	if err := makeNode(parent, base, unix.S_IFIFO|0o600); err != nil {
		return err
	}
	if err := parent.Lchown(base, h.Uid, h.Gid); err != nil {
		return err
	}
	return parent.Chmod(base, h.FileInfo().Mode()&modeMask)
}

// xattrRecordPrefix is the prefix of extended attributes in PAX records.
const xattrRecordPrefix = "SCHILY.xattr."

// setXattrs sets the permitted extended attributes: security.capability and user.*, without
// user.overlay.*. It ignores all others.
func (u *unpacker) setXattrs(f *os.File, h *tar.Header) error {
	for record, value := range h.PAXRecords {
		name, ok := strings.CutPrefix(record, xattrRecordPrefix)
		if !ok || name != "security.capability" && (!strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "user.overlay.")) {
			continue
		}
		if err := u.charge(Size{Bytes: int64(len(value))}); err != nil {
			return err
		}
		if err := unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("attribute %s: %w", truncateName(name), err)
		}
	}
	return nil
}
