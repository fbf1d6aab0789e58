package localprovisioner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/berthproject/berth/api/v1alpha1"
)

// storage manages the root directory. The directory must not be moved while in use.
type storage struct {
	path string // absolute
	root *os.Root
}

// openStorage opens the root directory and creates it if necessary.
func openStorage(path string) (*storage, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &storage{path, root}, nil
}

func (s *storage) close() { _ = s.root.Close() }

// create creates a volume's directory and returns its path. An existing directory is reused. The directory is
// world-writable, since containers run as different users.
func (s *storage) create(node, name string) (string, error) {
	if err := checkNames(node, name); err != nil {
		return "", err
	}
	// Pods may create setuid files in the world-writable directories below, so other users of the
	// machine must not reach them.
	if err := s.root.MkdirAll(node, 0o700); err != nil {
		return "", err
	}
	if err := s.root.Chmod(node, 0o700); err != nil { // an older version may have created it with another mode
		return "", err
	}
	path := filepath.Join(node, name)
	if err := s.root.Mkdir(path, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := s.root.Chmod(path, 0o777); err != nil { // regardless of the umask
		return "", err
	}
	return filepath.Join(s.path, path), nil
}

// remove deletes a volume's directory with its content and its disk image. A missing directory is
// no error.
func (s *storage) remove(node, name string) error {
	if err := checkNames(node, name); err != nil {
		return err
	}
	if err := unmountAll(filepath.Join(s.path, node, name)); err != nil {
		return err
	}
	for _, suffix := range []string{"", v1alpha1.VolumeImageSuffix, v1alpha1.VolumeImageSuffix + ".new", v1alpha1.VolumePlainSuffix} {
		if err := s.root.RemoveAll(filepath.Join(node, name+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// nodeOf returns the node of a volume's directory. It returns an error for a path that create would not have
// returned.
func (s *storage) nodeOf(path, name string) (string, error) {
	node, last := filepath.Split(strings.TrimPrefix(path, s.path+string(filepath.Separator)))
	node = strings.TrimSuffix(node, string(filepath.Separator))
	if last != name || checkNames(node, name) != nil || path != filepath.Join(s.path, node, name) {
		return "", fmt.Errorf("path %q is not the directory of volume %s below %s", path, name, s.path)
	}
	return node, nil
}

// nodes returns the nodes that have directories.
func (s *storage) nodes() []string {
	dir, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range dir {
		if d.IsDir() {
			out = append(out, d.Name())
		}
	}
	return out
}

// checkNames returns an error unless all names are single path elements.
func checkNames(names ...string) error {
	for _, n := range names {
		if n == "" || n == "." || n == ".." || strings.ContainsAny(n, `/\`) || !filepath.IsLocal(n) {
			return fmt.Errorf("directory name %q: must be a single path element", n)
		}
	}
	return nil
}
