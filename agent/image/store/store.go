package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotFound means that the store does not have the image.
var ErrNotFound = errors.New("image is not in the store")

// Limits are the limits of one image. Zero fields have defaults.
type Limits struct {
	Bytes  int64 // unpacked, all layers; default 32 GiB
	Inodes int64 // files, directories and links, all layers; default 500,000
	Layers int   // default 120, so that their directories fit into mount options
	// MinFree is the disk space in bytes that unpacking leaves free; default 1 % of the disk, none
	// if negative.
	MinFree int64
}

// Options configures a Store. All fields are optional.
type Options struct {
	Limits Limits
	// BuiltinDir is the store with the built-in images, if not this one. Stores on several disks of
	// a machine can share it.
	BuiltinDir string
	// InsecureRegistries are the registries that may use plain HTTP, as HOST or HOST:PORT. All others
	// must use HTTPS, even those on this machine.
	InsecureRegistries []string
	// StallTimeout is how long a registry may send nothing; default 2 min.
	StallTimeout time.Duration
}

// Store stores images. It is safe for concurrent use by goroutines and processes.
type Store struct {
	dir          string
	limits       Limits
	builtin      *Store     // store of the built-in images; nil: this one
	layers       keyedMutex // layers being unpacked by this process
	stallTimeout time.Duration
	insecure     []string
}

// Open opens the store in dir. It creates the directory if necessary and removes incomplete files of
// killed processes.
func Open(dir string, o Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, limits: o.Limits, insecure: o.InsecureRegistries, stallTimeout: cmp.Or(o.StallTimeout, 2*time.Minute)}
	if err := s.makeDirs(); err != nil {
		return nil, fmt.Errorf("image store %s: %w", dir, err)
	}
	if err := s.limits.setDefaults(dir); err != nil {
		return nil, fmt.Errorf("image store %s: %w", dir, err)
	}
	if err := s.cleanUp(); err != nil {
		return nil, fmt.Errorf("image store %s: %w", dir, err)
	}
	if o.BuiltinDir != "" && filepath.Clean(o.BuiltinDir) != dir {
		if s.builtin, err = Open(o.BuiltinDir, Options{Limits: o.Limits}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.dir }

// setDefaults replaces limits of 0. By default 1 % of the file system of dir stays free.
func (l *Limits) setDefaults(dir string) error {
	if l.Bytes == 0 {
		l.Bytes = 32 << 30
	}
	if l.Inodes == 0 {
		l.Inodes = 500_000
	}
	if l.Layers == 0 {
		l.Layers = 120
	}
	if l.MinFree == 0 {
		var stat unix.Statfs_t
		if err := unix.Statfs(dir, &stat); err != nil {
			return err
		}
		l.MinFree = int64(stat.Blocks) * stat.Bsize / 100
	}
	l.MinFree = max(l.MinFree, 0)
	return nil
}

// makeDirs creates the directory structure. Only root has access, because layers contain setuid
// programs.
func (s *Store) makeDirs() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return err
	}
	for _, d := range []string{"blobs/sha256", "layers", "uses", "tmp", "empty"} {
		if err := os.MkdirAll(s.path(d), 0o755); err != nil {
			return err
		}
	}
	layout := s.path("oci-layout")
	data, err := os.ReadFile(layout)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 { // empty if a process was killed while writing it
		return os.WriteFile(layout, []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
	}
	if err == nil && !strings.Contains(string(data), `"1.0.0"`) {
		return fmt.Errorf("oci-layout %q: must be version 1.0.0", data)
	}
	return err
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// withLock calls f while it holds the store's file lock.
func (s *Store) withLock(f func() error) error {
	lock, err := os.OpenFile(s.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("locking image store %s: %w", s.dir, err)
	}
	return f()
}

// tempPattern matches files that are being written.
const tempPattern = ".new-*"

// writeAtomic replaces a file atomically. If durable is set, it syncs the file to disk.
func writeAtomic(path string, data []byte, durable bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename
	defer f.Close()
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if durable {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
