package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Remove removes a name, and the image with its last one; an id or a name with a digest removes the image with
// all its names. Layers that another image or a container uses stay as long as that lasts.
func (s *Store) Remove(name string) error {
	return s.update(func(entries []indexEntry) ([]indexEntry, error) {
		images, err := s.list()
		if err != nil {
			return nil, err
		}
		image, err := resolve(images, name)
		if err != nil {
			return nil, err
		}
		full, err := fullName(name)
		one := err == nil && slices.Contains(image.RepoTags, full) && len(image.RepoTags) > 1
		return slices.DeleteFunc(entries, func(e indexEntry) bool {
			return e.id.String() == image.ID && (!one || e.name == full)
		}), nil
	})
}

// update changes which images there are, and removes what nobody needs any more.
func (s *Store) update(do func([]indexEntry) ([]indexEntry, error)) error {
	w, err := s.begin()
	if err != nil {
		return err
	}
	defer w.end() // which removes what was moved there
	return s.withLock(func() error {
		entries, err := s.readIndex()
		if err != nil {
			return err
		}
		if entries, err = do(entries); err != nil {
			return err
		}
		if err := s.writeIndex(entries); err != nil {
			return err
		}
		return s.collectGarbage(w, entries)
	})
}

// collectGarbage moves layers and blobs that nobody needs into w's directory. The store is locked.
func (s *Store) collectGarbage(w *transaction, entries []indexEntry) error {
	layers, blobs := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		data, err := s.readBlob(e.id)
		if err != nil {
			return err // and nothing is removed
		}
		config, err := diffIDs(data)
		if err != nil {
			return err
		}
		for _, diffID := range config {
			layers[layerName(diffID)] = true
		}
		blobs[e.id.Hex], blobs[e.manifest.Hex] = true, true
	}
	if err := errors.Join(s.layersInProgress(layers), s.layersInUse(layers)); err != nil {
		return err
	}
	if err := w.discard(s.path("layers"), layers); err != nil {
		return err
	}
	return w.discard(s.path("blobs", "sha256"), blobs)
}

// discard moves what is in dir but not to be kept away.
func (w *transaction) discard(dir string, keep map[string]bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range list {
		if keep[d.Name()] {
			continue
		}
		w.discarded++
		if err := os.Rename(filepath.Join(dir, d.Name()), filepath.Join(w.dir, fmt.Sprintf("discarded-%d", w.discarded))); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp removes what a killed process has left: its works, images that lack something, and what no image needs.
func (s *Store) cleanUp() error {
	err := s.withLock(func() error {
		list, err := os.ReadDir(s.path("tmp"))
		if err != nil {
			return err
		}
		for _, d := range list {
			if dir := s.path("tmp", d.Name()); isAbandoned(dir) {
				if err := os.RemoveAll(dir); err != nil {
					return err
				}
			}
		}
		return s.removeTempFiles(s.dir, s.path("uses"))
	})
	if err != nil {
		return err
	}
	err = s.update(func(entries []indexEntry) ([]indexEntry, error) {
		var whole []indexEntry
		for _, e := range entries {
			_, err := s.image(e)
			if err == nil {
				_, err = s.readBlob(e.manifest)
			}
			if err != nil && !isMissingOrCorrupt(err) {
				return nil, fmt.Errorf("image %s: %w", cmp.Or(e.name, e.repoDigest, e.id.String()), err)
			}
			if err == nil {
				whole = append(whole, e)
			}
		}
		return whole, nil
	})
	if errors.Is(err, unix.ENOSPC) {
		return nil // a full disk must not keep an agent from starting that would make room
	}
	return err
}

// removeTempFiles removes files whose writing was cut off. The store is locked.
func (s *Store) removeTempFiles(dirs ...string) error {
	for _, dir := range dirs {
		left, err := filepath.Glob(filepath.Join(dir, tempPattern))
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Usage of a store.
type Usage struct {
	Root          string
	Bytes, Inodes int64
}

// Usage is what all images of this store hold, each layer once.
func (s *Store) Usage() (Usage, error) {
	u := Usage{Root: s.dir}
	list, err := os.ReadDir(s.path("layers"))
	if err != nil {
		return u, err
	}
	for _, d := range list {
		l, err := readRecord(s.path("layers", d.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return u, err
		}
		u.Bytes, u.Inodes = u.Bytes+l.Bytes, u.Inodes+l.Inodes
	}
	return u, nil
}
