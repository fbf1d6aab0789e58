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

// Remove removes a name of an image, and the image if it has no other name. An ID or a name with a digest
// removes the image with all its names. Remove keeps layers that other images or containers use.
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
		onlyName := err == nil && slices.Contains(image.RepoTags, full) && len(image.RepoTags) > 1
		return slices.DeleteFunc(entries, func(e indexEntry) bool {
			return e.id.String() == image.ID && (!onlyName || e.name == full)
		}), nil
	})
}

// update changes the index and removes layers and blobs that are no longer needed.
func (s *Store) update(change func([]indexEntry) ([]indexEntry, error)) error {
	tx, err := s.begin()
	if err != nil {
		return err
	}
	defer tx.end() // removes what was moved to its directory
	return s.withLock(func() error {
		entries, err := s.readIndex()
		if err != nil {
			return err
		}
		if entries, err = change(entries); err != nil {
			return err
		}
		if err := s.writeIndex(entries); err != nil {
			return err
		}
		return s.collectGarbage(tx, entries)
	})
}

// collectGarbage moves unneeded layers and blobs to the transaction's directory. The caller holds
// the store lock.
func (s *Store) collectGarbage(tx *transaction, entries []indexEntry) error {
	layers, blobs := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		data, err := s.readBlob(e.id)
		if err != nil {
			return err // nothing is removed
		}
		ids, err := diffIDs(data)
		if err != nil {
			return err
		}
		for _, diffID := range ids {
			layers[layerName(diffID)] = true
		}
		blobs[e.id.Hex], blobs[e.manifest.Hex] = true, true
	}
	if err := errors.Join(s.layersInProgress(layers), s.layersInUse(layers)); err != nil {
		return err
	}
	if err := tx.discard(s.path("layers"), layers); err != nil {
		return err
	}
	return tx.discard(s.path("blobs", "sha256"), blobs)
}

// discard moves the entries of dir that are not in keep to the transaction's directory.
func (tx *transaction) discard(dir string, keep map[string]bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range list {
		if keep[d.Name()] {
			continue
		}
		tx.discarded++
		if err := os.Rename(filepath.Join(dir, d.Name()), filepath.Join(tx.dir, fmt.Sprintf("discarded-%d", tx.discarded))); err != nil {
			return err
		}
	}
	return nil
}

// cleanUp removes what killed processes and power failures left: transactions, temporary files, incomplete or corrupt
// images, and garbage. If the disk is full, it returns nil.
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
		var intact []indexEntry
		for _, e := range entries {
			_, err := s.image(e)
			if err == nil {
				_, err = s.readBlob(e.manifest)
			}
			if err != nil && !isMissingOrCorrupt(err) {
				return nil, fmt.Errorf("image %s: %w", cmp.Or(e.name, e.repoDigest, e.id.String()), err)
			}
			if err == nil {
				intact = append(intact, e)
			}
		}
		return intact, nil
	})
	if errors.Is(err, unix.ENOSPC) {
		return nil // on a full disk the agent must be able to start, to free space
	}
	return err
}

// removeTempFiles removes incompletely written files. The caller holds the store lock.
func (s *Store) removeTempFiles(dirs ...string) error {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, tempPattern))
		if err != nil {
			return err
		}
		for _, path := range files {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// Usage is the disk usage of a store.
type Usage struct {
	Root          string // directory of the store
	Bytes, Inodes int64
}

// Usage returns the size of all layers.
func (s *Store) Usage() (Usage, error) {
	u := Usage{Root: s.dir}
	list, err := os.ReadDir(s.path("layers"))
	if err != nil {
		return u, err
	}
	for _, d := range list {
		l, err := readRecord(s.path("layers", d.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed concurrently
		}
		if err != nil {
			return u, err
		}
		u.Bytes, u.Inodes = u.Bytes+l.Bytes, u.Inodes+l.Inodes
	}
	return u, nil
}
