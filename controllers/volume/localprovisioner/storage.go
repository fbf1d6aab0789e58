package localprovisioner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// storage is the root directory. It must not be moved while it is in use.
type storage struct {
	path string // absolute
	root *os.Root
}

// openStorage makes the root directory if it is not there.
func openStorage(path string) (*storage, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o711); err != nil { //nolint:gosec // pods pass through it
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &storage{path, root}, nil
}

func (s *storage) close() { _ = s.root.Close() }

// create makes a volume's directory, which everybody may write to, as containers run
// under users of their own. It says where it is. One that is there stays.
func (s *storage) create(node, name string) (string, error) {
	if err := checkNames(node, name); err != nil {
		return "", err
	}
	if err := s.root.MkdirAll(node, 0o711); err != nil {
		return "", err
	}
	at := filepath.Join(node, name)
	if err := s.root.Mkdir(at, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := s.root.Chmod(at, 0o777); err != nil { // in spite of the umask
		return "", err
	}
	return filepath.Join(s.path, at), nil
}

// remove deletes a volume's directory and what is in it. One that is not there is no error.
func (s *storage) remove(node, name string) error {
	if err := checkNames(node, name); err != nil {
		return err
	}
	err := s.root.RemoveAll(filepath.Join(node, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// nodeOf takes the path of a volume's directory apart. A path that create would not have made
// is an error.
func (s *storage) nodeOf(path, name string) (string, error) {
	node, last := filepath.Split(strings.TrimPrefix(path, s.path+string(filepath.Separator)))
	node = strings.TrimSuffix(node, string(filepath.Separator))
	if last != name || checkNames(node, name) != nil || path != filepath.Join(s.path, node, name) {
		return "", fmt.Errorf("path %q is not the directory of volume %s below %s", path, name, s.path)
	}
	return node, nil
}

// nodes are the nodes that have directories.
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

// checkNames demands names of one step each, down.
func checkNames(names ...string) error {
	for _, n := range names {
		if n == "" || n == "." || n == ".." || strings.ContainsAny(n, `/\`) || !filepath.IsLocal(n) {
			return fmt.Errorf("%q cannot be the name of a directory", n)
		}
	}
	return nil
}
