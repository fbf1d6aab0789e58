package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// layerReference records the layers that a container uses.
type layerReference struct {
	Image  string   `json:"image"`
	Layers []string `json:"layers"`
}

// Acquire keeps the layers of an image for a container until Release, across restarts.
// container is a file name, such as the container ID.
func (s *Store) Acquire(container, name string) (Image, error) {
	if err := validateContainerName(container); err != nil {
		return Image{}, err
	}
	var image Image
	err := s.withLock(func() error {
		images, err := s.list()
		if err != nil {
			return err
		}
		if image, err = resolve(images, name); err != nil {
			return err
		}
		ref := layerReference{Image: image.ID}
		for _, dir := range image.LowerDirs {
			if name := filepath.Base(filepath.Dir(dir)); dir != s.path("empty") {
				ref.Layers = append(ref.Layers, name)
			}
		}
		data, err := json.Marshal(ref)
		if err != nil {
			return err
		}
		return writeAtomic(s.path("uses", container), data, false) // containers do not survive a power failure
	})
	if s.builtin != nil && errors.Is(err, ErrNotFound) {
		return s.builtin.Acquire(container, name)
	}
	return image, err
}

// validateContainerName checks that container is a file name.
func validateContainerName(container string) error {
	if container == "" || len(container) > 255 || strings.HasPrefix(container, ".") || strings.ContainsAny(container, "/\x00") {
		return fmt.Errorf("container %q: must be a valid file name, such as the container ID", container)
	}
	return nil
}

// Release ends the use of an image by a container and removes layers that no other image or container
// uses. It is a no-op without a preceding Acquire.
func (s *Store) Release(container string) error {
	if err := validateContainerName(container); err != nil {
		return err
	}
	imageRemoved := false
	err := s.withLock(func() error {
		data, err := os.ReadFile(s.path("uses", container))
		if err != nil {
			return err
		}
		if err := os.Remove(s.path("uses", container)); err != nil {
			return err
		}
		entries, err := s.readIndex()
		imageRemoved = !slices.ContainsFunc(entries, func(e indexEntry) bool { return strings.Contains(string(data), e.id.String()) })
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && s.builtin != nil:
		return s.builtin.Release(container)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && imageRemoved:
		return s.update(func(entries []indexEntry) ([]indexEntry, error) { return entries, nil })
	}
	return err
}

// Users returns the names of the containers that use images, as given to Acquire.
func (s *Store) Users() ([]string, error) {
	var out []string
	for store := s; store != nil; store = store.builtin {
		list, err := os.ReadDir(store.path("uses"))
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if !strings.HasPrefix(d.Name(), ".") {
				out = append(out, d.Name())
			}
		}
	}
	return out, nil
}

// layersInUse adds the layers that containers use. The caller holds the store lock.
func (s *Store) layersInUse(used map[string]bool) error {
	list, err := os.ReadDir(s.path("uses"))
	if err != nil {
		return err
	}
	for _, d := range list {
		if strings.HasPrefix(d.Name(), ".") {
			continue // temporary file of a killed process
		}
		data, err := os.ReadFile(s.path("uses", d.Name()))
		if errors.Is(err, fs.ErrNotExist) || err == nil && isBlank(data) { // released, or lost in a power failure
			continue
		}
		if err != nil {
			return err
		}
		var ref layerReference
		if err := json.Unmarshal(data, &ref); err != nil {
			return fmt.Errorf("%s: %w", s.path("uses", d.Name()), err)
		}
		for _, l := range ref.Layers {
			used[l] = true
		}
	}
	return nil
}
