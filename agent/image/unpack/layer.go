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

// Result is what was made of a layer.
type Result struct {
	Size
	// Opaque says that nothing of lower layers shows.
	Opaque bool
	// Devices are how many device files of dev/ were left out.
	Devices int
}

// Layer makes the files of a layer, an unpacked tar stream, in dir, which must be empty. After an
// error what is there is to be removed.
func Layer(ctx context.Context, dir string, stream io.Reader, budget *Budget) (Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, err
	}
	l := &unpacker{root: root, budget: budget}
	defer l.close()
	if err := l.charge(Size{Bytes: blockSize, Inodes: 1}); err != nil { // the root itself
		return l.result, err
	}
	for r := tar.NewReader(&boundedReader{r: stream, limit: budget.limit.Bytes}); ; {
		if err := ctx.Err(); err != nil {
			return l.result, err
		}
		h, err := r.Next()
		if err == io.EOF {
			return l.result, l.setTimes()
		}
		if err != nil {
			return l.result, fmt.Errorf("reading the layer: %w", err)
		}
		if err := l.extract(h, r); err != nil {
			return l.result, fmt.Errorf("entry %q: %w", truncateName(h.Name), err)
		}
	}
}

// boundedReader bounds a stream, headers and all.
type boundedReader struct {
	r           io.Reader
	read, limit int64
}

func (c *boundedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.read += int64(n); c.read > c.limit {
		return n, fmt.Errorf("%w: unpacked it has more than %d bytes", ErrTooLarge, c.limit)
	}
	return n, err
}

// truncateName is a name that fits into a message.
func truncateName(name string) string {
	if len(name) > 200 {
		return name[:200] + "..."
	}
	return name
}

// unpacker is one that is being made.
type unpacker struct {
	root   *os.Root
	budget *Budget
	result Result

	parent     *os.Root // that of the last entry
	parentName string
	dirs       []dirTime
	nameBytes  int // bytes of dirs' names
}

// dirTime is when a directory was changed; what is made in it later changes that.
type dirTime struct {
	name string
	at   time.Time
}

func (l *unpacker) close() {
	l.closeParent()
	l.root.Close()
}

func (l *unpacker) charge(s Size) error {
	l.result.Bytes += s.Bytes
	l.result.Inodes += s.Inodes
	return l.budget.charge(s)
}

// Bounds of names, the kernel's own but for the depth.
const (
	maxPath = 4095
	maxName = 255
	// maxDepth bounds how long it takes to walk to a file.
	maxDepth = 256
)

// cleanName is the name as a path below the root; "." for itself.
func cleanName(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("its name has %d bytes: at most %d are possible", len(name), maxPath)
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == ".." || strings.ContainsRune(part, 0):
			return "", fmt.Errorf("%q in a name may lead out of the image", part)
		case len(part) > maxName:
			return "", fmt.Errorf("a part of its name has %d bytes: at most %d are possible", len(part), maxName)
		case part != "" && part != ".":
			parts = append(parts, part)
		}
	}
	if len(parts) > maxDepth {
		return "", fmt.Errorf("it is %d directories deep: at most %d are possible", len(parts), maxDepth)
	}
	if len(parts) == 0 {
		return ".", nil
	}
	return strings.Join(parts, "/"), nil
}

// openParent opens the directory, which is made with those above it if need be. It is closed by leave.
func (l *unpacker) openParent(dir string) (*os.Root, error) {
	if l.parent != nil && l.parentName == dir {
		return l.parent, nil
	}
	r, err := l.open(dir)
	if err != nil {
		return nil, err
	}
	l.closeParent()
	l.parent, l.parentName = r, dir
	return r, nil
}

// closeParent forgets the directory, since what its path leads to may have changed.
func (l *unpacker) closeParent() {
	if l.parent != nil {
		l.parent.Close()
		l.parent = nil
	}
}

// open opens a directory, and makes those on the way that are not there.
func (l *unpacker) open(dir string) (*os.Root, error) {
	info, err := l.root.Stat(dir)
	if err == nil && info.IsDir() {
		return l.root.OpenRoot(dir)
	}
	if err == nil {
		err = unix.ENOTDIR
	}
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%q is a link that leads to itself", truncateName(dir))
	}
	if dir == "." || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
		return nil, err // os.Root says that it escapes
	}
	above, err := l.open(path.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer above.Close()
	name := path.Base(dir)
	if info, err := above.Lstat(name); err == nil && !isWhiteout(info) {
		return nil, fmt.Errorf("%q is no directory, and does not lead to one", truncateName(dir))
	}
	if err := l.makeDir(above, name); err != nil {
		return nil, fmt.Errorf("%q: %w", truncateName(dir), err)
	}
	return above.OpenRoot(name)
}

// makeDir makes a directory, or leaves the one that is there. It hides what lower layers have there if the layer
// has removed that.
func (l *unpacker) makeDir(in *os.Root, name string) error {
	info, err := in.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	hides := err == nil && isWhiteout(info)
	if err == nil {
		if err := l.remove(in, name); err != nil {
			return err
		}
	}
	if err := l.charge(Size{Bytes: blockSize, Inodes: 1}); err != nil {
		return err
	}
	if err := in.Mkdir(name, 0o755); err != nil {
		return err
	}
	if hides {
		return markOpaque(in, name)
	}
	return nil
}

// remove removes what an entry replaces. The path of the last entry's directory may lead elsewhere then.
func (l *unpacker) remove(in *os.Root, name string) error {
	l.parentName = ""
	return in.RemoveAll(name)
}

// recordTime remembers the time of a directory.
func (l *unpacker) recordTime(name string, at time.Time) error {
	if l.nameBytes += len(name); l.nameBytes > maxNameBytes {
		return fmt.Errorf("%w: the names of a layer's directories have more than %d bytes", ErrTooLarge, maxNameBytes)
	}
	l.dirs = append(l.dirs, dirTime{name, at})
	return nil
}

func (l *unpacker) setTimes() error {
	for _, d := range l.dirs {
		info, err := l.root.Lstat(d.name)
		if err != nil || !info.IsDir() {
			continue // it was replaced later
		}
		if err := l.root.Chtimes(d.name, d.at, d.at); err != nil {
			return fmt.Errorf("time of directory %q: %w", truncateName(d.name), err)
		}
	}
	return nil
}
