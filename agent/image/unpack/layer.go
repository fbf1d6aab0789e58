package unpack

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Result describes an unpacked layer.
type Result struct {
	Size
	// Opaque reports whether the layer hides all lower layers.
	Opaque bool
	// Devices is the number of skipped device files.
	Devices int
}

// Layer unpacks a tar stream into the empty directory dir. After an error the caller removes
// dir.
func Layer(ctx context.Context, dir string, stream io.Reader, budget *Budget) (Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, err
	}
	u := &unpacker{root: root, budget: budget}
	defer u.close()
	if err := u.charge(Size{Bytes: blockSize, Inodes: 1}); err != nil { // the root directory
		return u.result, err
	}
	for r := tar.NewReader(&boundedReader{stream: stream, limit: budget.limit.Bytes}); ; {
		if err := ctx.Err(); err != nil {
			return u.result, err
		}
		h, err := r.Next()
		if err == io.EOF {
			return u.result, u.setTimes()
		}
		if err != nil {
			return u.result, fmt.Errorf("reading the layer: %w", err)
		}
		if err := u.extract(h, r); err != nil {
			return u.result, fmt.Errorf("entry %q: %w", truncateName(h.Name), err)
		}
	}
}

// boundedReader limits a stream including tar headers.
type boundedReader struct {
	stream      io.Reader
	read, limit int64
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	if b.read += int64(n); b.read > b.limit {
		return n, fmt.Errorf("%w: more than %d bytes unpacked", ErrTooLarge, b.limit)
	}
	return n, err
}

// truncateName shortens a name for messages.
func truncateName(name string) string {
	if len(name) > 200 {
		return name[:200] + "..."
	}
	return name
}

// unpacker is the state of unpacking a layer.
type unpacker struct {
	root   *os.Root
	budget *Budget
	result Result

	parent     *os.Root // directory of the last entry
	parentName string
	dirs       []dirTime
	nameBytes  int // total length of the names in dirs
}

// dirTime is the modification time of a directory, set after its entries are created.
type dirTime struct {
	name    string
	modTime time.Time
}

func (u *unpacker) close() {
	u.closeParent()
	u.root.Close()
}

func (u *unpacker) charge(s Size) error {
	u.result.Bytes += s.Bytes
	u.result.Inodes += s.Inodes
	return u.budget.charge(s)
}

// Limits of names in bytes, and of the depth of paths. maxPath and maxName are the kernel's.
const (
	maxPath = 4095
	maxName = 255
	// maxDepth bounds the cost of path lookups.
	maxDepth = 256
)

// cleanName returns name as a path relative to the root, "." for the root.
func cleanName(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("name has %d bytes, the maximum is %d", len(name), maxPath)
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == ".." || strings.ContainsRune(part, 0):
			return "", fmt.Errorf("name contains %q, which may lead out of the image", part)
		case len(part) > maxName:
			return "", fmt.Errorf("a path element has %d bytes, the maximum is %d", len(part), maxName)
		case part != "" && part != ".":
			parts = append(parts, part)
		}
	}
	if len(parts) > maxDepth {
		return "", fmt.Errorf("path has %d elements, the maximum is %d", len(parts), maxDepth)
	}
	if len(parts) == 0 {
		return ".", nil
	}
	return strings.Join(parts, "/"), nil
}

// openParent returns a directory, which it creates if necessary. The directory stays open for the
// next entry; closeParent closes it.
func (u *unpacker) openParent(dir string) (*os.Root, error) {
	if u.parent != nil && u.parentName == dir {
		return u.parent, nil
	}
	r, err := u.open(dir)
	if err != nil {
		return nil, err
	}
	u.closeParent()
	u.parent, u.parentName = r, dir
	return r, nil
}

// closeParent closes the cached directory.
func (u *unpacker) closeParent() {
	if u.parent != nil {
		u.parent.Close()
		u.parent = nil
	}
}

// open opens a directory. It creates the directory and its parents if they do not exist.
func (u *unpacker) open(dir string) (*os.Root, error) {
	info, err := u.root.Stat(dir)
	if err == nil && info.IsDir() {
		return u.root.OpenRoot(dir)
	}
	if err == nil {
		err = unix.ENOTDIR
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%q is a symbolic link loop", truncateName(dir))
	}
	if dir == "." || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		return nil, err // os.Root rejected it
	}
	parent, err := u.open(path.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	name := path.Base(dir)
	if info, err := parent.Lstat(name); err == nil && !isWhiteout(info) {
		return nil, fmt.Errorf("%q is not a directory", truncateName(dir))
	}
	if err := u.makeDir(parent, name); err != nil {
		return nil, fmt.Errorf("%q: %w", truncateName(dir), err)
	}
	return parent.OpenRoot(name)
}

// makeDir creates a directory if it does not exist. The directory is opaque if it replaces a
// whiteout.
func (u *unpacker) makeDir(parent *os.Root, name string) error {
	info, err := parent.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	hidden := err == nil && isWhiteout(info)
	if err == nil {
		if err := u.remove(parent, name); err != nil {
			return err
		}
	}
	if err := u.charge(Size{Bytes: blockSize, Inodes: 1}); err != nil {
		return err
	}
	if err := parent.Mkdir(name, 0o755); err != nil {
		return err
	}
	if hidden {
		return markOpaque(parent, name)
	}
	return nil
}

// remove removes a file that an entry replaces, and invalidates the cached parent.
func (u *unpacker) remove(parent *os.Root, name string) error {
	u.parentName = ""
	return parent.RemoveAll(name)
}

// recordTime records the modification time of a directory for setTimes.
func (u *unpacker) recordTime(name string, modTime time.Time) error {
	if u.nameBytes += len(name); u.nameBytes > maxNameBytes {
		return fmt.Errorf("%w: directory names of a layer exceed %d bytes", ErrTooLarge, maxNameBytes)
	}
	u.dirs = append(u.dirs, dirTime{name, modTime})
	return nil
}

// setTimes sets the modification times of the directories.
func (u *unpacker) setTimes() error {
	for _, d := range u.dirs {
		info, err := u.root.Lstat(d.name)
		if err != nil || !info.IsDir() {
			continue // replaced by a later entry
		}
		if err := u.root.Chtimes(d.name, d.modTime, d.modTime); err != nil {
			return fmt.Errorf("time of directory %q: %w", truncateName(d.name), err)
		}
	}
	return nil
}
