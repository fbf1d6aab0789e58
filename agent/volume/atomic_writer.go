package volume

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file of a payload; uid is its owner.
type file struct {
	data []byte
	mode fs.FileMode
	uid  int
}

// payload maps paths in a volume to files.
type payload map[string]file

// Entries of a volume directory, as in Kubernetes' AtomicWriter. Each file NAME, or first
// directory of a path, links to ..data/NAME, and ..data links to the directory of the current
// version.
const (
	dataDirName    = "..data"
	newDataDirName = "..data_tmp"
	versionPattern = "..version-*"
)

// writePayload makes dir contain exactly the payload. Its files change atomically, by one rename.
// Unless group is noFSGroup, it owns the files and may read them. writePayload writes no files if
// nothing changed, and repairs the result of an interrupted call.
func writePayload(dir string, p payload, group int) error {
	for path := range p {
		if !filepath.IsLocal(path) || strings.HasPrefix(path, "..") {
			return fmt.Errorf("path %q: must be relative and must not begin with two dots", path)
		}
	}
	if err := setOwnership(dir, 0o755, group); err != nil {
		return err
	}
	current, err := os.Readlink(filepath.Join(dir, dataDirName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !isCurrent(filepath.Join(dir, current), p, group) {
		if current, err = writeVersion(dir, p, group); err != nil {
			return err
		}
	}
	return updateLinks(dir, current, p)
}

// isCurrent reports whether a version directory matches the payload.
func isCurrent(dir string, p payload, group int) bool {
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ok := p[rel]
		info, statError := d.Info()
		got, readError := os.ReadFile(path)
		if !ok || statError != nil || readError != nil || info.Mode().Perm() != groupReadable(want.mode, group) || !bytes.Equal(got, want.data) {
			return fs.ErrInvalid
		}
		return nil
	})
	return err == nil && files == len(p)
}

// writeVersion writes the payload to a new version directory and makes it current.
func writeVersion(dir string, p payload, group int) (string, error) {
	versionDir, err := os.MkdirTemp(dir, versionPattern)
	if err != nil {
		return "", err
	}
	if err := writeFiles(versionDir, p, group); err != nil {
		return "", errors.Join(err, os.RemoveAll(versionDir))
	}
	link := filepath.Join(dir, newDataDirName)
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	name := filepath.Base(versionDir)
	if err := os.Symlink(name, link); err != nil {
		return "", err
	}
	return name, os.Rename(link, filepath.Join(dir, dataDirName))
}

// writeFiles writes the files of the payload and their directories below dir.
func writeFiles(dir string, p payload, group int) error {
	if err := setOwnership(dir, 0o755, group); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(p)) {
		f := p[path]
		target := dir
		for part := range strings.SplitSeq(filepath.Dir(path), "/") {
			target = filepath.Join(target, part)
			if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := setOwnership(target, 0o755, group); err != nil {
				return err
			}
		}
		target = filepath.Join(dir, path)
		if err := os.WriteFile(target, f.data, 0o600); err != nil {
			return err
		}
		if err := os.Lchown(target, f.uid, max(group, 0)); err != nil {
			return err
		}
		if err := os.Chmod(target, groupReadable(f.mode, group)); err != nil {
			return err
		}
	}
	return nil
}

// updateLinks creates the links to the current version and removes all other files.
func updateLinks(dir, current string, p payload) error {
	names := map[string]bool{}
	for path := range p {
		first, _, _ := strings.Cut(path, "/")
		names[first] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if names[name] {
			delete(names, name)
			continue
		}
		if name == dataDirName || name == current {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for name := range names {
		if err := os.Symlink(filepath.Join(dataDirName, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}
