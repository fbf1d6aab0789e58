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

// extract makes what one header says, from data if it is a file.
func (l *unpacker) extract(h *tar.Header, data io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	name, err := cleanName(h.Name)
	if err != nil {
		return err
	}
	if h.Uid < 0 || h.Gid < 0 || int64(h.Uid) >= 1<<32-1 || int64(h.Gid) >= 1<<32-1 {
		return fmt.Errorf("its owner is %d:%d: ids are from 0 to %d", h.Uid, h.Gid, 1<<32-2)
	}
	if name == "." {
		if h.Typeflag != tar.TypeDir {
			return fmt.Errorf("the root of an image must be a directory")
		}
		return l.setDirMetadata(l.root, ".", name, h)
	}
	base := path.Base(name)
	if removed, ok := strings.CutPrefix(base, whiteoutPrefix); ok {
		return l.whiteout(path.Dir(name), removed)
	}
	if (h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock) && strings.HasPrefix(name, "dev/") {
		l.result.Devices++
		return nil
	}
	in, err := l.openParent(path.Dir(name))
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := l.makeDir(in, base); err != nil {
			return err
		}
		return l.setDirMetadata(in, base, name, h)
	case tar.TypeReg:
		return l.file(in, base, h, data)
	case tar.TypeSymlink:
		return l.symlink(in, base, h)
	case tar.TypeLink:
		return l.hardLink(in, name, h.Linkname)
	case tar.TypeFifo:
		return l.fifo(in, base, h)
	case tar.TypeChar, tar.TypeBlock:
		return errors.New("it is a device file: containers have those of their own in /dev, and images may not bring any")
	}
	return fmt.Errorf("its type is %q: want a file, a directory or a link", h.Typeflag)
}

// setDirMetadata gives a directory that is there what its header says.
func (l *unpacker) setDirMetadata(in *os.Root, base, name string, h *tar.Header) error {
	if err := in.Lchown(base, h.Uid, h.Gid); err != nil {
		return err
	}
	if err := in.Chmod(base, h.FileInfo().Mode()&modeMask); err != nil {
		return err
	}
	if len(h.PAXRecords) > 0 {
		f, err := in.Open(base)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := l.setXattrs(f, h); err != nil {
			return err
		}
	}
	return l.recordTime(name, h.ModTime)
}

// modeMask are the bits of a mode that an image sets.
const modeMask = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// removeExisting makes room for an entry by removing what has its name.
func (l *unpacker) removeExisting(in *os.Root, base string) error {
	if _, err := in.Lstat(base); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return l.remove(in, base)
}

func (l *unpacker) file(in *os.Root, base string, h *tar.Header, data io.Reader) error {
	if h.Size < 0 {
		return fmt.Errorf("its size is %d", h.Size)
	}
	// What a file claims is taken before it is written: a hole need not come with its data.
	if err := l.charge(Size{Bytes: (min(h.Size, 1<<62) + blockSize - 1) / blockSize * blockSize, Inodes: 1}); err != nil {
		return err
	}
	if err := l.removeExisting(in, base); err != nil {
		return err
	}
	f, err := in.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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
	if err := f.Chmod(h.FileInfo().Mode() & modeMask); err != nil { // after the owner, which takes setuid away
		return err
	}
	if err := l.setXattrs(f, h); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return in.Chtimes(base, h.ModTime, h.ModTime)
}

// symlink makes a link with any target: it means something inside a container only.
func (l *unpacker) symlink(in *os.Root, base string, h *tar.Header) error {
	if h.Linkname == "" || len(h.Linkname) > maxPath {
		return fmt.Errorf("the target of its link has %d bytes: want 1 to %d", len(h.Linkname), maxPath)
	}
	if err := l.charge(Size{Bytes: blockSize, Inodes: 1}); err != nil {
		return err
	}
	if err := l.removeExisting(in, base); err != nil {
		return err
	}
	if err := in.Symlink(h.Linkname, base); err != nil {
		return err
	}
	return in.Lchown(base, h.Uid, h.Gid)
}

// hardLink gives a file of this layer one more name.
func (l *unpacker) hardLink(in *os.Root, name, target string) error {
	to, err := cleanName(target)
	if err != nil {
		return fmt.Errorf("link to %q: %w", truncateName(target), err)
	}
	info, err := l.root.Lstat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("link to %q, which is not in this layer", truncateName(target))
	case err != nil:
		return fmt.Errorf("link to %q: %w", truncateName(target), err)
	case info.IsDir() || isWhiteout(info):
		return fmt.Errorf("link to %q, which is no file", truncateName(target))
	case to == name:
		return nil // it is there already
	}
	if err := l.charge(Size{Inodes: 1}); err != nil { // no inode, but an entry: a million of them is to be refused, too
		return err
	}
	if err := l.removeExisting(in, path.Base(name)); err != nil {
		return err
	}
	return l.root.Link(to, name)
}

func (l *unpacker) fifo(in *os.Root, base string, h *tar.Header) error {
	if err := l.charge(Size{Inodes: 1}); err != nil {
		return err
	}
	if err := l.removeExisting(in, base); err != nil {
		return err
	}
	if err := makeNode(in, base, unix.S_IFIFO|0o600); err != nil {
		return err
	}
	if err := in.Lchown(base, h.Uid, h.Gid); err != nil {
		return err
	}
	return in.Chmod(base, h.FileInfo().Mode()&modeMask)
}

// xattrRecordPrefix begins the names of extended attributes in a header.
const xattrRecordPrefix = "SCHILY.xattr."

// setXattrs sets those extended attributes that an image may have.
func (l *unpacker) setXattrs(f *os.File, h *tar.Header) error {
	for record, value := range h.PAXRecords {
		name, ok := strings.CutPrefix(record, xattrRecordPrefix)
		if !ok || name != "security.capability" && (!strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "user.overlay.")) {
			continue
		}
		if err := l.charge(Size{Bytes: int64(len(value))}); err != nil {
			return err
		}
		if err := unix.Fsetxattr(int(f.Fd()), name, []byte(value), 0); err != nil && !errors.Is(err, unix.ENOTSUP) {
			return fmt.Errorf("attribute %s: %w", truncateName(name), err)
		}
	}
	return nil
}
